"""A case: what is sent, in order, and what must come of it."""

from dataclasses import dataclass, field

from . import wire


@dataclass
class Case:
    """Bytes among the steps are sent; anything else is called with the peer, to act or to judge."""

    section: str
    title: str
    steps: tuple = ()
    opens: bool = True
    options: dict = field(default_factory=dict)

    def run(self, peer):
        if self.opens:
            peer.handshake(**self.options)
        waiting = b""
        for step in (*self.steps, None):
            if isinstance(step, bytes):
                waiting += step
                if peer.target.together:
                    continue
            if waiting:
                peer.send(waiting)
                waiting = b""
            if callable(step):
                step(peer)


class Requests:
    """Requests of one server."""

    def __init__(self, scheme, authority):
        self.scheme = scheme
        self.authority = authority

    def fields(self, method="GET"):
        return [(":method", method), (":scheme", self.scheme), (":path", "/"), (":authority", self.authority)]

    def block(self, method="GET", *extra):
        return wire.block(*self.fields(method), *extra)

    def without(self, name):
        return wire.block(*(entry for entry in self.fields() if entry[0] != name))

    def get(self, stream=1):
        """A whole request."""
        return wire.headers(stream, self.block())

    def open_get(self, stream=1):
        """A GET whose body has not ended."""
        return wire.headers(stream, self.block(), wire.END_HEADERS)

    def post(self, stream=1, *extra, flags=wire.END_HEADERS):
        """The headers of a request that a body follows."""
        return wire.headers(stream, self.block("POST", *extra), flags)


#: A field of some size, for blocks in several frames.
FILLER = wire.block(("x-filler", "f" * 100))
#: Fields that are more than one frame may carry.
OVERSIZED = wire.block(*((f"x-filler-{number}", "f" * 4_000) for number in range(5)))

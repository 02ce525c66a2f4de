"""A client that sends what a case says, hears what the server answers, and judges it."""

import socket
import ssl
import struct
import time
from dataclasses import dataclass

from . import wire


class Failure(Exception):
    """The server did something else than it must."""


@dataclass
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self):
        """The error code of RST_STREAM and GOAWAY."""
        return struct.unpack(">I", self.payload[4:8] if self.kind == wire.GOAWAY else self.payload[:4])[0]

    @property
    def acknowledges(self):
        return bool(self.flags & wire.ACK) and self.kind in (wire.SETTINGS, wire.PING)

    @property
    def ends_stream(self):
        return bool(self.flags & wire.END_STREAM) and self.kind in (wire.DATA, wire.HEADERS)

    def __str__(self):
        text = wire.name_of(wire.KINDS, self.kind)
        if self.kind in (wire.RST_STREAM, wire.GOAWAY):
            text += f"({wire.name_of(wire.CODES, self.code)})"
        elif self.kind == wire.DATA:
            text += f"({len(self.payload)} bytes)"
        if self.acknowledges:
            text += "+ACK"
        if self.ends_stream:
            text += "+END_STREAM"
        return text + (f"@{self.stream}" if self.stream else "")


@dataclass
class Target:
    """Where the server is and how it is spoken to."""

    host: str
    port: int
    tls: bool = False
    authority: str | None = None
    timeout: float = 5.0
    #: Whether frames that follow each other leave in one write, so that one read of the server holds them all.
    together: bool = False


class Peer:
    """One connection. Everything heard is kept for the message of a failure."""

    def __init__(self, target: Target):
        self.target = target
        self.heard = []
        self.closed = False
        self.limits = {}
        self.input = b""
        self.socket = socket.create_connection((target.host, target.port), timeout=target.timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if target.tls:
            context = ssl.create_default_context(cafile=target.authority)
            if target.authority is None:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            self.socket = context.wrap_socket(self.socket, server_hostname=target.host)
            if self.socket.selected_alpn_protocol() != "h2":
                raise Failure("the server does not choose h2 in ALPN")

    def close(self):
        self.socket.close()

    def send(self, content):
        try:
            self.socket.settimeout(self.target.timeout)
            self.socket.sendall(content)
        except (ConnectionError, ssl.SSLError):
            # The server has hung up already: what it said before is what counts, and can still be read.
            pass

    def handshake(self, values=(), acknowledges=True):
        """Both prefaces. `acknowledges=False` leaves the server's SETTINGS without an answer."""
        self.send(wire.PREFACE + wire.settings(*values))
        first = self.next()
        if first is None or first.kind != wire.SETTINGS or first.acknowledges:
            raise Failure(f"the server's first frame is not SETTINGS; {self}")
        for offset in range(0, len(first.payload), 6):
            name, value = struct.unpack(">HI", first.payload[offset:offset + 6])
            self.limits[name] = value
        if acknowledges:
            self.send(wire.settings(flags=wire.ACK))
        self.await_(lambda frame: frame.kind == wire.SETTINGS and frame.acknowledges, "the acknowledgement of SETTINGS")

    def next(self, deadline=None):
        """The next frame; None when the connection closes or nothing comes in time (`closed` tells which)."""
        deadline = deadline or time.monotonic() + self.target.timeout
        while True:
            if len(self.input) >= 9:
                length = int.from_bytes(self.input[:3], "big")
                if len(self.input) >= 9 + length:
                    kind, flags, stream = struct.unpack(">BBI", self.input[3:9])
                    frame = Frame(kind, flags, stream & wire.LARGEST_WINDOW, self.input[9:9 + length])
                    self.input = self.input[9 + length:]
                    self.heard.append(frame)
                    return frame
            if self.closed:
                return None
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return None
            self.socket.settimeout(remaining)
            try:
                received = self.socket.recv(65_536)
            except TimeoutError:
                return None
            except OSError:
                received = b""
            self.input += received
            self.closed = not received

    def frames(self):
        """Frames as they come, until the connection closes or nothing comes in time."""
        deadline = time.monotonic() + self.target.timeout
        while (frame := self.next(deadline)) is not None:
            yield frame

    def await_(self, matches, what):
        """The first frame that matches; an end of the connection is a failure."""
        for frame in self.frames():
            if matches(frame):
                return frame
            if frame.kind == wire.GOAWAY and frame.code != wire.NO_ERROR:
                raise Failure(f"GOAWAY instead of {what}; {self}")
        raise Failure(f"no {what}; {self}")

    def __str__(self):
        said = ", ".join(str(frame) for frame in self.heard[-12:]) or "nothing"
        return f"heard {said}; the connection is {'closed' if self.closed else 'open'}"


# MARK: What a case may expect. Each returns a step: a function of the peer that raises a Failure.


def _list(codes):
    return " or ".join(wire.name_of(wire.CODES, code) for code in codes)


def connection_error(*codes):
    """GOAWAY with one of the codes, or, as section 5.4.1 allows, nothing but the end of the connection."""
    def step(peer):
        for frame in peer.frames():
            if frame.kind == wire.GOAWAY:
                if frame.code in codes:
                    return
                raise Failure(f"a connection error {_list(codes)} was due; {peer}")
        if not peer.closed:
            raise Failure(f"a connection error {_list(codes)} was due; {peer}")
    return step


def stream_error(*codes, stream=1):
    """RST_STREAM with one of the codes; an endpoint may make a connection error of it (section 5.4.2)."""
    def step(peer):
        for frame in peer.frames():
            if frame.kind == wire.GOAWAY or (frame.kind == wire.RST_STREAM and frame.stream == stream):
                if frame.code in codes:
                    return
                raise Failure(f"a stream error {_list(codes)} was due; {peer}")
        if not peer.closed:
            raise Failure(f"a stream error {_list(codes)} was due; {peer}")
    return step


def exactly(kind, code, stream=0):
    """RST_STREAM on the stream, or GOAWAY, with this code and nothing else."""
    def step(peer):
        name = f"{wire.name_of(wire.KINDS, kind)}({_list([code])})"
        frame = peer.await_(lambda frame: frame.kind == kind or frame.kind == wire.GOAWAY, name)
        if frame.kind != kind or frame.code != code or (stream and frame.stream != stream):
            raise Failure(f"{name} was due; {peer}")
    return step


def closes(peer):
    """The connection ends, with or without a GOAWAY."""
    for _ in peer.frames():
        pass
    if not peer.closed:
        raise Failure(f"the connection was to be closed; {peer}")


def answers(stream=1, expected=200):
    """A response with this status; None takes any that is not an error of the stream."""
    def step(peer):
        frame = peer.await_(
            lambda frame: frame.stream == stream and frame.kind in (wire.HEADERS, wire.RST_STREAM), f"a response on {stream}")
        if frame.kind != wire.HEADERS:
            raise Failure(f"a response was due on {stream}; {peer}")
        found = wire.status(frame.payload)
        if expected is not None and found != expected:
            raise Failure(f"the response has status {found}, not {expected}; {peer}")
    return step


def ends(stream=1):
    """The response on the stream is complete."""
    return lambda peer: peer.await_(lambda frame: frame.stream == stream and frame.ends_stream, f"the end of stream {stream}")


def sends(count, stream=1):
    """The next DATA frame has exactly so many bytes."""
    def step(peer):
        frame = peer.await_(lambda frame: frame.kind == wire.DATA and frame.stream == stream, f"DATA on {stream}")
        if len(frame.payload) != count:
            raise Failure(f"DATA of {count} bytes was due; {peer}")
    return step


def acknowledges(peer):
    """The SETTINGS sent last are acknowledged."""
    peer.await_(lambda frame: frame.kind == wire.SETTINGS and frame.acknowledges, "an acknowledgement of SETTINGS")


def pongs(payload=b"\0" * 8):
    """A PING is answered with its own payload."""
    return lambda peer: peer.await_(
        lambda frame: frame.kind == wire.PING and frame.acknowledges and frame.payload == payload, "an answer to PING")


def lives(peer):
    """The connection is in good health: it answers a PING that no case uses."""
    payload = b"alive?!?"
    peer.send(wire.ping(payload))
    pongs(payload)(peer)

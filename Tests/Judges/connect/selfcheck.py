"""The judge on itself: its client and server agree, and each spoilt server is found out."""

from . import cases, compare, http2, protos, reference_client, reference_server, wire
from .protos import CONNECT, GRPC, UNARY


class WrongType(reference_server.Exchange):
    """Claims another codec."""

    def _begin(self):
        if not self.answered:
            self.answered = True
            self.stream.send_headers([(":status", "200"), ("content-type", "application/grpc+thrift")] + self.headers)


class NoTrailers(reference_server.Exchange):
    """Forgets the trailing metadata."""

    async def end(self, error=None):
        self.trailers = []
        await super().end(error)


class NoHeaders(reference_server.Exchange):
    """Forgets the metadata."""

    async def send(self, message):
        self.headers = []
        await super().send(message)


class OtherCode(reference_server.Exchange):
    """Answers with a code of its own."""

    async def end(self, error=None):
        if error is not None:
            error.code = error.code % 16 + 1
        await super().end(error)


class OtherMessage(reference_server.Exchange):
    """Loses what is not ASCII of an error's message."""

    async def end(self, error=None):
        if error is not None:
            error.message = error.message.encode("ascii", "ignore").decode()
        await super().end(error)


class NoDetails(reference_server.Exchange):
    """Loses an error's details."""

    async def end(self, error=None):
        if error is not None:
            del error.details[:]
        await super().end(error)


class FlagsGone(reference_server.Exchange):
    """Sends compressed messages as if they were not."""

    async def send(self, message):
        self._begin()
        await self.stream.send(wire.envelope(wire.gzip.compress(wire.encode(message, self.codec))))


class NoEnd(reference_server.Exchange):
    """Ends the stream without saying how the call ended."""

    async def end(self, error=None):
        self._begin()
        await self.stream.send(end=True)


class TwiceTheAnswer(reference_server.Exchange):
    """Sends each answer twice."""

    async def send(self, message):
        await super().send(message)
        await super().send(message)


class OneBlock(reference_server.Exchange):
    """Sends the headers of a call that fails at once among its trailers."""

    async def end(self, error=None):
        if error is not None and not self.answered:
            self.headers, self.trailers = [], self.headers + self.trailers
        await super().end(error)


class OwnReason(reference_server.Exchange):
    """Gives errors of its own a reason, which no handler has set."""

    async def end(self, error=None):
        if error is not None and not error.details:
            error.details.append(protos.pack(protos.error_details_pb2.ErrorInfo(reason="OWN", domain="judge")))
        await super().end(error)


SPOILT = [WrongType, NoTrailers, NoHeaders, OtherCode, OtherMessage, NoDetails, FlagsGone, NoEnd, TwiceTheAnswer, OneBlock,
          OwnReason]


def checks(everything, some, placed):
    """(name, check) pairs."""
    def run_all(kind, combination, only=None):
        async def failures():
            listener = await http2.Listener(reference_server.Service(kind).serve).start()
            connection = await http2.connect(listener.port)
            found = []
            try:
                for case in list(cases.basic()) + list(cases.errors()) + list(cases.unimplemented()):
                    if only is None or case.request.stream_type == only:
                        call = reference_client.Call(connection, placed(case, *combination))
                        what = compare.differences(case, await call.run())
                        found += [f"{case.name}: {what[0]}"] if what else []
            finally:
                await connection.close()
                await listener.stop()
            return found
        return failures

    def found_out(failures):
        async def run():
            return [] if await failures() else ["nobody noticed"]
        return run

    for name, *combination in everything:
        yield f"{name} agrees", run_all(reference_server.Exchange, combination)
    for name, *combination in some:
        for kind in SPOILT:
            # Streams: Connect's unary calls have neither envelopes nor an end to spoil.
            yield f"{name}, {kind.__name__}", found_out(run_all(kind, combination, 3))
        if combination[0] in (CONNECT, GRPC):
            yield f"{name}, OtherCode in unary calls", found_out(run_all(OtherCode, combination, UNARY))

"""A server of the three protocols that does what requests ask for, and notices whatever a client does against them."""

import asyncio
import gzip
import json
import urllib.parse

from . import protos, wire
from .protos import CONNECT, GRPC, GRPC_WEB, GZIP, JSON, PROTO

CANCELED, UNKNOWN, INVALID, DEADLINE, UNIMPLEMENTED, INTERNAL = 1, 2, 3, 4, 12, 13
TYPES = {
    wire.content_type(protocol, codec, bare): (protocol, codec, bare)
    for protocol in (CONNECT, GRPC, GRPC_WEB) for codec in (PROTO, JSON) for bare in ((True, False) if protocol == CONNECT else (False,))}
TYPES |= {"application/grpc": (GRPC, PROTO, False), "application/grpc-web": (GRPC_WEB, PROTO, False)}
Info = protos.service.ConformancePayload.RequestInfo


class Failure(Exception):
    """How a call fails."""

    def __init__(self, code, message="", details=()):
        self.error = protos.service.Error(code=code, message=message, details=details)


class Exchange:
    """One call as the server sees it."""

    def __init__(self, stream, note):
        self.stream, self.note = stream, note
        self.fields = stream.headers
        self.answered = False
        self.headers, self.trailers = [], []
        self.envelopes, self.waiting = wire.Envelopes(), []

    def problem(self, what):
        self.note(wire.first(self.fields, "x-case"), what)

    # MARK: What the request says

    def open(self):
        """Reads the headers; false when nothing can be answered in the caller's own protocol."""
        get = self.get
        path, _, query = get(":path").partition("?")
        self.method = path.rpartition("/")[2]
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if get(":method") == "GET":
            self.protocol, self.bare = CONNECT, True
            self.codec = PROTO if self.query.get("encoding") == "proto" else JSON
            self._check_get()
        else:
            found = TYPES.get(get("content-type", "").lower())
            if get(":method") != "POST" or found is None:
                self.problem(f"{get(':method')} with the content type {get('content-type')!r}")
                return False
            self.protocol, self.codec, self.bare = found
        prefix = "grpc-" if wire.is_grpc(self.protocol) else "" if self.bare else "connect-"
        self.encoding = get("grpc-encoding" if wire.is_grpc(self.protocol) else prefix + "content-encoding")
        accepted = [name.strip() for name in get(prefix + "accept-encoding", "").split(",")]
        self.compression = GZIP if "gzip" in accepted else protos.IDENTITY
        if "gzip" not in accepted:
            self.problem("gzip is not accepted, which the client can read")
        self._check_headers()
        return True

    def get(self, name, default=None):
        return wire.first(self.fields, name, default)

    def _check_get(self):
        if self.query.get("connect") != "v1":
            self.problem("a GET without connect=v1")
        if self.query.get("encoding") not in ("proto", "json") or "message" not in self.query:
            self.problem(f"a GET with the query {self.query}")
        if self.query.get("encoding") == "proto" and self.query.get("base64") != "1":
            self.problem("protobuf in a query without base64")
        if "content-type" in dict(self.fields):
            self.problem("a GET with a content type")

    def _check_headers(self):
        names = [name for name, _ in self.fields]
        for name in ("content-type", "grpc-encoding", "grpc-timeout", "connect-timeout-ms", "te", ":path", ":authority"):
            if names.count(name) > 1:
                self.problem(f"{names.count(name)} fields {name}")
        if self.protocol == GRPC and self.get("te") != "trailers":
            self.problem("gRPC without te: trailers")
        if self.protocol == CONNECT and self.get(":method") == "POST" and self.get("connect-protocol-version") != "1":
            self.problem("Connect without connect-protocol-version: 1")
        if self.protocol == CONNECT and any(name.startswith("grpc-") for name in names):
            self.problem("a field of gRPC in a call of Connect")
        if self.protocol != CONNECT and any(name.startswith("connect-") for name in names):
            self.problem("a field of Connect in a call of gRPC")
        if not self.get("user-agent"):
            self.problem("no user-agent")

    def timeout(self):
        """Milliseconds, or None."""
        if self.protocol == CONNECT:
            value = self.get("connect-timeout-ms")
            if value is not None and not (value.isdigit() and len(value) <= 10):
                self.problem(f"connect-timeout-ms is {value!r}")
            return None if value is None else int(value)
        value = self.get("grpc-timeout")
        if value is None:
            return None
        units = {"H": 3.6e6, "M": 6e4, "S": 1e3, "m": 1, "u": 1e-3, "n": 1e-6}
        if not (value[:-1].isdigit() and len(value) <= 9 and value[-1] in units):
            self.problem(f"grpc-timeout is {value!r}")
            return None
        return int(int(value[:-1]) * units[value[-1]])

    async def receive(self):
        """The next request; None after the last."""
        if self.bare:
            if self.waiting is None:
                return None
            self.waiting = None
            return wire.decode(protos.REQUESTS[self.method], await self._bare_body(), self.codec)
        while not self.waiting:
            data = await self.stream.read()
            if not data:
                if self.stream.reset_code is not None:
                    raise ConnectionError("reset")
                if self.envelopes.rest:
                    self.problem("the request ends within an envelope")
                return None
            self.waiting += self.envelopes.feed(data)
        flags, body = self.waiting.pop(0)
        if flags & ~wire.COMPRESSED:
            self.problem(f"a request has the flags {flags:#x}")
        if self.encoding == "gzip" and not flags:
            self.problem("a request is not compressed although its encoding is gzip")
        return wire.decode(protos.REQUESTS[self.method], wire.restore(flags, body, self.encoding), self.codec)

    async def _bare_body(self):
        if self.get(":method") == "GET":
            body = self.query.get("message", "").encode()
            if self.query.get("base64") == "1":
                body = wire.base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4))
            return gzip.decompress(body) if self.query.get("compression") == "gzip" else body
        body = await self.stream.rest()
        if self.stream.reset_code is not None:
            raise ConnectionError("reset")
        return gzip.decompress(body) if self.encoding == "gzip" and body else body

    # MARK: The answer

    def _begin(self):
        if self.answered:
            return
        self.answered = True
        fields = [(":status", "200"), ("content-type", wire.content_type(self.protocol, self.codec, self.bare))]
        if self.compression == GZIP:
            fields.append(("grpc-encoding" if wire.is_grpc(self.protocol) else "connect-content-encoding", "gzip"))
        self.stream.send_headers(fields + self.headers)

    async def send(self, message):
        if not self.bare:
            self._begin()
            return await self.stream.send(wire.enveloped(message, self.codec, self.compression))
        body = wire.encode(message, self.codec)
        fields = [(":status", "200"), ("content-type", wire.content_type(CONNECT, self.codec, True))]
        if self.compression == GZIP:
            body = gzip.compress(body, mtime=0)
            fields.append(("content-encoding", "gzip"))
        self.stream.send_headers(fields + self.headers + [("trailer-" + name, value) for name, value in self.trailers])
        await self.stream.send(body, end=True)

    async def end(self, error=None):
        if self.protocol == GRPC:
            if not self.answered and error is not None and not self.headers:
                # Trailers-Only.
                fields = [(":status", "200"), ("content-type", wire.content_type(GRPC, self.codec, False))]
                return self.stream.send_headers(fields + wire.grpc_trailers(error, self.trailers), end=True)
            self._begin()
            return self.stream.send_headers(wire.grpc_trailers(error, self.trailers), end=True)
        if self.protocol == GRPC_WEB:
            self._begin()
            return await self.stream.send(wire.web_trailers(wire.grpc_trailers(error, self.trailers)), end=True)
        if not self.bare:
            self._begin()
            return await self.stream.send(wire.connect_end(error, self.trailers), end=True)
        if error is not None:
            fields = [(":status", str(wire.HTTP_OF_CODE[wire.CODES[error.code]])), ("content-type", "application/json")]
            self.stream.send_headers(fields + self.headers + [("trailer-" + name, value) for name, value in self.trailers])
            await self.stream.send(json.dumps(wire.connect_error(error)).encode(), end=True)


class Service:
    """The judge's service; give `serve` to a listener. Problems are kept by the value of the request's x-case."""

    def __init__(self, exchange=Exchange):
        self.exchange = exchange
        self.problems = {}
        self.seen = {}

    def note(self, name, what):
        self.problems.setdefault(name, []).append(what)

    async def serve(self, stream):
        exchange = self.exchange(stream, self.note)
        if not exchange.open():
            stream.send_headers([(":status", "415")], end=True)
            return
        self.seen[exchange.get("x-case")] = (exchange.get(":method"), exchange.encoding or exchange.query.get("compression"))
        milliseconds = exchange.timeout()
        try:
            await asyncio.wait_for(self._answer(exchange), None if milliseconds is None else milliseconds / 1000)
        except Failure as failure:
            await exchange.end(failure.error)
        except asyncio.TimeoutError:
            await exchange.end(Failure(DEADLINE, "out of time").error)
        except wire.UNREADABLE as problem:
            exchange.problem(str(problem))
            await exchange.end(Failure(INVALID, str(problem)).error)

    async def _answer(self, exchange):
        if exchange.method not in protos.REQUESTS or exchange.method == "Unimplemented" or protos.SERVICE not in exchange.get(":path"):
            raise Failure(UNIMPLEMENTED, "no such method")
        info = Info(request_headers=wire.headers(wire.custom(exchange.fields)))
        timeout = exchange.timeout()
        if timeout is not None:
            info.timeout_ms = timeout
        if exchange.method == "BidiStream":
            return await self._bidi(exchange, info)
        first = None
        while (request := await exchange.receive()) is not None:
            info.requests.append(protos.pack(request))
            first = first or request
        reply = protos.RESPONSES[exchange.method]
        if exchange.method == "ServerStream":
            return await self._stream(exchange, info, first.response_definition, reply, 0)
        definition = first.response_definition if first is not None else protos.service.UnaryResponseDefinition()
        exchange.headers, exchange.trailers = wire.pairs(definition.response_headers), wire.pairs(definition.response_trailers)
        await asyncio.sleep(definition.response_delay_ms / 1000)
        if definition.WhichOneof("response") == "error":
            error = definition.error
            raise Failure(error.code, error.message, list(error.details) + [protos.pack(info)])
        await exchange.send(reply(payload=protos.service.ConformancePayload(data=definition.response_data, request_info=info)))
        if not exchange.bare:
            await exchange.end()

    async def _bidi(self, exchange, info):
        reply, definition, full, given = protos.service.BidiStreamResponse, protos.service.StreamResponseDefinition(), False, 0
        while (request := await exchange.receive()) is not None:
            if not info.requests:
                definition, full = request.response_definition, request.full_duplex
                exchange.headers = wire.pairs(definition.response_headers)
                exchange.trailers = wire.pairs(definition.response_trailers)
            info.requests.append(protos.pack(request))
            if not full:
                continue
            if given == len(definition.response_data):
                break
            await asyncio.sleep(definition.response_delay_ms / 1000)
            told = info if given == 0 else Info(requests=[protos.pack(request)])
            await exchange.send(reply(payload=protos.service.ConformancePayload(
                data=definition.response_data[given], request_info=told)))
            given += 1
        await self._stream(exchange, info, definition, reply, given)

    async def _stream(self, exchange, info, definition, reply, given):
        exchange.headers, exchange.trailers = wire.pairs(definition.response_headers), wire.pairs(definition.response_trailers)
        for data in definition.response_data[given:]:
            await asyncio.sleep(definition.response_delay_ms / 1000)
            payload = protos.service.ConformancePayload(data=data)
            if given == 0:
                payload.request_info.CopyFrom(info)
            await exchange.send(reply(payload=payload))
            given += 1
        error = definition.error if definition.HasField("error") else None
        if error is not None and given == 0:
            raise Failure(error.code, error.message, list(error.details) + [protos.pack(info)])
        await exchange.end(error)

"""Requests that break a protocol, and odd ones that do not, sent to our server by hand."""

import gzip
import json
import urllib.parse

from . import cases, compare, http2, protos, wire
from .protos import CONNECT, FULL, GRPC, GRPC_WEB, JSON, PROTO, SERVER, UNARY

UNKNOWN, INVALID, DEADLINE, EXHAUSTED, UNIMPLEMENTED, INTERNAL = 2, 3, 4, 8, 12, 13
# How a server may call a message that cannot be read.
UNREADABLE = (INVALID, INTERNAL)
PATH = f"/{protos.SERVICE}/"


class Answer:
    """What came back, read by the rules of a protocol."""

    def __init__(self, protocol, is_bare, stream, body):
        self.headers, self.body, self.trailers = stream.headers or [], body, stream.trailers
        self.reset = stream.reset_code
        self.status = int(wire.first(self.headers, ":status", "0"))
        self.type = wire.first(self.headers, "content-type", "")
        self.problems, self.messages, self.code, self.error = [], 0, None, None
        if self.status == 200 or is_bare:
            self._read(protocol, is_bare)

    def _read(self, protocol, is_bare):
        if is_bare:
            if self.status != 200 and wire.same_type(self.type, "application/json"):
                self._end(wire.read_connect_error(json.loads(self.body), self.problems))
            elif self.status == 200:
                self.code, self.messages = 0, 1
            return
        envelopes = wire.Envelopes()
        for flags, body in envelopes.feed(self.body):
            if protocol == CONNECT and flags & wire.CONNECT_END:
                end = json.loads(gzip.decompress(body) if flags & 1 else body)
                self._end(wire.read_connect_error(end["error"], self.problems) if "error" in end else None)
            elif protocol == GRPC_WEB and flags & wire.WEB_TRAILERS:
                self._end(wire.grpc_error(wire.read_web_trailers(body, self.problems), self.problems))
            else:
                self.messages += 1
        if envelopes.rest:
            self.problems.append("the body ends within an envelope")
        fields = self.trailers or self.headers
        if self.code is None and wire.first(fields, "grpc-status") is not None:
            self._end(wire.grpc_error(fields, self.problems))

    def _end(self, error):
        self.code, self.error = (error.code if error else 0), error


class Request:
    """One request by hand: a good one, to be spoilt."""

    def __init__(self, protocol, stream=UNARY, codec=PROTO, method=None, verb="POST"):
        self.protocol, self.stream = protocol, stream
        self.is_bare = protocol == CONNECT and stream == UNARY
        self.method = method or protos.METHODS[stream]
        self.verb, self.path = verb, PATH + self.method
        kind = protos.REQUESTS[self.method]
        self.message = kind(request_data=b"hello") if self.method != "Unimplemented" else kind()
        if self.method != "Unimplemented":
            self.message.response_definition.CopyFrom(cases.definition(stream, [b"answer"], headers=False))
        self.codec = codec
        body = wire.encode(self.message, codec)
        self.body = body if self.is_bare else wire.envelope(body)
        self.fields = {"content-type": wire.content_type(protocol, codec, self.is_bare)}
        self.fields.update({"te": "trailers"} if protocol == GRPC else {"connect-protocol-version": "1"} if protocol == CONNECT else {})

    def but(self, body=None, path=None, verb=None, **fields):
        """This request with a difference; fields are written with underscores, None takes one away."""
        self.body = self.body if body is None else body
        self.path, self.verb = path or self.path, verb or self.verb
        for name, value in fields.items():
            name = name.replace("_", "-")
            self.fields.pop(name, None)
            if value is not None:
                self.fields[name] = value
        return self

    async def answer(self, port):
        connection = await http2.connect(port)
        try:
            head = [(":method", self.verb), (":scheme", "http"), (":authority", "localhost"), (":path", self.path)]
            stream = connection.open(head + list(self.fields.items()), end=self.verb == "GET")
            if self.verb != "GET":
                try:
                    await stream.send(self.body, end=True)
                except ConnectionError:
                    pass
            body = await stream.rest()
            return Answer(self.protocol, self.is_bare, stream, body)
        finally:
            await connection.close()


def refused(request, *codes, status=None):
    """The call must fail with one of the codes, or, where `status` is given, with one of those statuses of HTTP.

    None of these errors is a handler's, so none has details."""
    async def run(port):
        answer = await request.answer(port)
        found = list(answer.problems) + (compare.unasked(answer.error) if answer.error else [])
        if status and answer.status in status:
            return found
        if answer.code not in codes:
            found.append(f"HTTP {answer.status}, code {answer.code}, {answer.messages} answers, reset {answer.reset}; "
                         f"wanted a code of {codes}" + (f" or HTTP {status}" if status else ""))
        if request.is_bare and answer.code and answer.status != wire.HTTP_OF_CODE[wire.CODES[answer.code]]:
            found.append(f"HTTP {answer.status} for the code {answer.code}")
        return found
    return run


def accepted(request, look=None):
    """The call must succeed; `look` finds what else is wrong."""
    async def run(port):
        answer = await request.answer(port)
        found = list(answer.problems)
        if answer.code != 0 or answer.messages != 1:
            found.append(f"HTTP {answer.status}, code {answer.code}, {answer.messages} answers, reset {answer.reset}; wanted one")
        return found + (look(answer) or [] if look and not found else [])
    return run


def understood(request):
    """The call must succeed, whatever its service answers."""
    async def run(port):
        answer = await request.answer(port)
        wrong = [] if answer.code == 0 else [f"HTTP {answer.status}, code {answer.code}, reset {answer.reset}; wanted success"]
        return list(answer.problems) + wrong
    return run


def uncompressed(name):
    def look(answer):
        encoding = wire.first(answer.headers, name, "identity")
        flagged = name != "content-encoding" and answer.body[:1] == b"\1"
        return [f"the answer is compressed ({encoding})"] if encoding != "identity" or flagged else []
    return look


def streams(protocol):
    """What all protocols with envelopes have in common."""
    encoding = "connect_content_encoding" if protocol == CONNECT else "grpc_encoding"
    accept = "connect_accept_encoding" if protocol == CONNECT else "grpc_accept_encoding"
    for stream in [SERVER] if protocol == CONNECT else [UNARY, SERVER]:
        name = protos.STREAM_NAMES[stream]
        one = Request(protocol, stream).body
        yield f"{name}, no message", refused(Request(protocol, stream).but(b""), UNIMPLEMENTED)
        yield f"{name}, two messages", refused(Request(protocol, stream).but(one * 2), UNIMPLEMENTED)
        yield f"{name}, half a prefix", refused(Request(protocol, stream).but(one[:3]), *UNREADABLE)
        yield f"{name}, half a message", refused(Request(protocol, stream).but(one[:-2]), *UNREADABLE)
        yield f"{name}, more claimed than sent", refused(
            Request(protocol, stream).but(wire.envelope(one[5:], length=len(one) + 50)), *UNREADABLE)
        yield f"{name}, a message that is no protobuf", refused(
            Request(protocol, stream).but(wire.envelope(b"\x0a\xff\xff\xff\xff\x0f")), *UNREADABLE)
        yield f"{name}, compressed without an encoding", refused(
            Request(protocol, stream).but(wire.envelope(gzip.compress(one[5:]), 1)), *UNREADABLE)
        yield f"{name}, compressed under identity", refused(
            Request(protocol, stream).but(wire.envelope(gzip.compress(one[5:]), 1), **{encoding: "identity"}), *UNREADABLE)
        yield f"{name}, an unknown encoding", refused(
            Request(protocol, stream).but(wire.envelope(one[5:], 1), **{encoding: "br"}), UNIMPLEMENTED)
        yield f"{name}, bytes that are no gzip", refused(
            Request(protocol, stream).but(wire.envelope(b"not compressed", 1), **{encoding: "gzip"}), *UNREADABLE)
        yield f"{name}, half a gzip", refused(
            Request(protocol, stream).but(wire.envelope(gzip.compress(one[5:])[:-6], 1), **{encoding: "gzip"}), *UNREADABLE)
        yield f"{name}, gzip named and not used", accepted(Request(protocol, stream).but(**{encoding: "gzip"}))
        yield f"{name}, a compressed message", accepted(
            Request(protocol, stream).but(wire.envelope(gzip.compress(one[5:]), 1), **{encoding: "gzip"}))
        yield f"{name}, an empty message compressed under identity", refused(
            Request(protocol, stream).but(wire.envelope(b"", 1), **{encoding: "identity"}), *UNREADABLE)
        yield f"{name}, an empty message compressed without an encoding", refused(
            Request(protocol, stream).but(wire.envelope(b"", 1)), *UNREADABLE)
        for title, body in [("nothing at all", b""), ("nothing in gzip", gzip.compress(b""))]:
            request = Request(protocol, stream).but(wire.envelope(body, 1), **{encoding: "gzip"})
            yield f"{name}, {title} for a compressed message", understood(request)
        yield f"{name}, nothing accepted compressed", accepted(
            Request(protocol, stream).but(**{accept: "identity"}), uncompressed(encoding.replace("_", "-")))
        yield f"{name}, an unknown compression accepted", accepted(
            Request(protocol, stream).but(**{accept: "br, zstd"}), uncompressed(encoding.replace("_", "-")))
        yield f"{name}, unknown flags", refused(Request(protocol, stream).but(wire.envelope(one[5:], 0x40)), *UNREADABLE)
        yield f"{name}, the last envelope of a response", refused(
            Request(protocol, stream).but(wire.envelope(b"{}", 0x02)), *UNREADABLE, UNIMPLEMENTED)
        yield f"{name}, an unknown codec", refused(
            Request(protocol, stream).but(content_type=wire.content_type(protocol, PROTO, False).replace("proto", "xml")),
            UNIMPLEMENTED, INTERNAL, status=(415,))
        yield f"{name}, another content type", refused(Request(protocol, stream).but(content_type="text/plain"), status=(415,))
        yield f"{name}, PUT", refused(Request(protocol, stream).but(verb="PUT"), status=(405,))
    yield "JSON that is none", refused(
        Request(protocol, SERVER, JSON).but(wire.envelope(b'{"requestData": ')), *UNREADABLE)
    yield "JSON of another type", refused(
        Request(protocol, SERVER, JSON).but(wire.envelope(b'{"requestData": {}}')), *UNREADABLE)
    yield "an unknown method", refused(
        Request(protocol, SERVER).but(path=PATH + "Nothing"), UNIMPLEMENTED, status=(404,) if protocol == CONNECT else None)
    yield "an unknown service", refused(
        Request(protocol, SERVER).but(path="/no.such.Service/Unary"), UNIMPLEMENTED,
        status=(404,) if protocol == CONNECT else None)


def grpc(protocol):
    for value in ["5x", "S", "", "-1S", "123456789S", "1.5S", "0x5S", "five"]:
        yield f"the timeout {value!r}", refused(Request(protocol).but(grpc_timeout=value), *UNREADABLE, status=(400,))
    for value in ["99999999H", "99999999n", "20000m", "5S", "1M"]:
        late = value.endswith("n")
        yield f"the timeout {value!r}", (refused(Request(protocol).but(grpc_timeout="1n"), DEADLINE) if late
                                         else accepted(Request(protocol).but(grpc_timeout=value)))
    yield "no time at all", refused(Request(protocol).but(grpc_timeout="0m"), DEADLINE)
    plain = "application/grpc" if protocol == GRPC else "application/grpc-web"
    yield "a content type without a codec", accepted(Request(protocol).but(content_type=plain))
    yield "a content type that only begins well", refused(Request(protocol).but(content_type=plain + "ish"), status=(415,))
    if protocol == GRPC_WEB:
        yield "a content type with a parameter", accepted(Request(protocol).but(content_type=plain + "+proto; charset=utf-8"))
    yield "metadata that is no base64", refused(Request(protocol).but(x_data_bin="!!!"), *UNREADABLE, 0, status=(400,))


def bare():
    """Connect's calls without envelopes."""
    def json_request():
        return Request(CONNECT, UNARY, JSON)
    for value in ["five", "-1", "12345678901", "1.5", "5s", ""]:
        yield f"the timeout {value!r}", refused(Request(CONNECT).but(connect_timeout_ms=value), INVALID)
        yield f"stream, the timeout {value!r}", refused(Request(CONNECT, SERVER).but(connect_timeout_ms=value), INVALID)
    yield "the longest timeout", accepted(Request(CONNECT).but(connect_timeout_ms="9999999999"))
    yield "no time at all", refused(Request(CONNECT).but(connect_timeout_ms="0"), DEADLINE, INVALID)
    yield "an unknown version", refused(Request(CONNECT).but(connect_protocol_version="2"), INVALID)
    yield "no version", accepted(Request(CONNECT).but(connect_protocol_version=None))
    yield "an empty body", accepted(Request(CONNECT).but(b""))
    yield "an empty body under gzip", accepted(Request(CONNECT).but(b"", content_encoding="gzip"))
    yield "an empty message in gzip", accepted(Request(CONNECT).but(gzip.compress(b""), content_encoding="gzip"))
    yield "an empty JSON object", accepted(json_request().but(b"{}"))
    yield "an empty JSON body", refused(json_request().but(b""), INVALID)
    yield "JSON that is none", refused(json_request().but(b'{"requestData": '), INVALID)
    yield "JSON of another type", refused(json_request().but(b'{"requestData": {}}'), INVALID)
    yield "JSON that is no object", refused(json_request().but(b"[]"), INVALID)
    yield "JSON with an unknown member", accepted(json_request().but(b'{"requestData": "aGk", "later": [1, {"a": null}]}'))
    yield "JSON with names of the proto file", accepted(json_request().but(b'{"request_data": "aGk="}'))
    yield "JSON with a charset", accepted(json_request().but(content_type="application/json; charset=utf-8"))
    yield "no protobuf", refused(Request(CONNECT).but(b"\x0a\xff\xff\xff\xff\x0f"), INVALID)
    yield "half a message", refused(Request(CONNECT).but(Request(CONNECT).body[:-2]), INVALID)
    yield "gzip", accepted(Request(CONNECT).but(gzip.compress(Request(CONNECT).body), content_encoding="gzip"))
    yield "identity named", accepted(Request(CONNECT).but(content_encoding="identity"))
    yield "an unknown encoding", refused(Request(CONNECT).but(content_encoding="br"), UNIMPLEMENTED)
    yield "bytes that are no gzip", refused(Request(CONNECT).but(b"not compressed", content_encoding="gzip"), *UNREADABLE)
    yield "nothing accepted compressed", accepted(
        Request(CONNECT).but(accept_encoding="identity"), uncompressed("content-encoding"))
    yield "an unknown compression accepted", accepted(
        Request(CONNECT).but(accept_encoding="br"), uncompressed("content-encoding"))
    yield "another content type", refused(Request(CONNECT).but(content_type="text/plain"), status=(415,))
    yield "an unknown codec", refused(Request(CONNECT).but(content_type="application/xml"), status=(415,))
    yield "no content type", refused(Request(CONNECT).but(content_type=None), status=(415,))
    yield "the content type of streams", refused(
        Request(CONNECT).but(content_type="application/connect+proto"), INVALID, UNIMPLEMENTED, INTERNAL, status=(415, 200))
    yield "a stream under the type of single messages", refused(
        Request(CONNECT, SERVER).but(content_type="application/proto"), status=(415,))
    yield "PUT", refused(Request(CONNECT).but(verb="PUT"), status=(405,))
    yield "an unknown method", refused(Request(CONNECT).but(path=PATH + "Nothing"), UNIMPLEMENTED, status=(404,))
    yield "an unknown service", refused(Request(CONNECT).but(path="/no.such.Service/Unary"), UNIMPLEMENTED, status=(404,))
    yield "Unimplemented", refused(Request(CONNECT, method="Unimplemented"), UNIMPLEMENTED)


def get():
    """Calls by GET."""
    name = "IdempotentUnary"

    def by_get(query, method=name, **fields):
        request = Request(CONNECT, UNARY, method=method, verb="GET").but(
            content_type=None, connect_protocol_version=None, **fields)
        return request.but(path=PATH + method + "?" + (query if isinstance(query, str) else urllib.parse.urlencode(query)))

    message = Request(CONNECT, method=name).message
    proto = wire.get_query(message, PROTO, protos.IDENTITY)
    compressed = wire.get_query(message, PROTO, protos.GZIP)
    as_json = wire.get_query(message, JSON, protos.IDENTITY)
    encoded = dict(proto)["message"]
    padded = encoded + "=" * (-len(encoded) % 4)

    def without(name):
        return [pair for pair in proto if pair[0] != name]
    yield "protobuf", accepted(by_get(proto))
    yield "JSON", accepted(by_get(as_json))
    yield "gzip", accepted(by_get(compressed))
    yield "in any order", accepted(by_get(list(reversed(proto))))
    yield "an unknown parameter", accepted(by_get(proto + [("later", "1")]))
    yield "padded base64", accepted(by_get(without("message") + [("message", padded)]))
    yield "padding as it is", accepted(by_get(f"connect=v1&base64=1&encoding=proto&message={padded}"))
    yield "JSON in base64", accepted(by_get([("encoding", "json"), ("base64", "1"), ("message", "e30"), ("connect", "v1")]))
    yield "an empty message", accepted(by_get([("connect", "v1"), ("base64", "1"), ("encoding", "proto"), ("message", "")]))
    yield "a blank as a plus", accepted(by_get("connect=v1&encoding=json&message=%7B+%7D"))
    yield "a timeout", accepted(by_get(proto, connect_timeout_ms="5000"))
    yield "a bad timeout", refused(by_get(proto, connect_timeout_ms="soon"), INVALID)
    yield "no message", refused(by_get(without("message")), INVALID)
    yield "no encoding", refused(by_get(without("encoding")), INVALID, status=(415,))
    yield "an unknown encoding", refused(by_get(without("encoding") + [("encoding", "xml")]), status=(415,))
    yield "an unknown compression", refused(by_get(proto + [("compression", "br")]), UNIMPLEMENTED)
    yield "an unknown version", refused(by_get(without("connect") + [("connect", "v2")]), INVALID)
    yield "no base64", refused(by_get(without("message") + [("message", "!!!")]), INVALID)
    yield "bytes that are no gzip", refused(by_get(proto + [("compression", "gzip")]), *UNREADABLE)
    yield "no protobuf", refused(by_get(without("message") + [("message", "Cv____8P")]), INVALID)
    yield "a method with side effects", refused(by_get(proto, method="Unary"), status=(405,))
    yield "without a query", refused(by_get(""), INVALID, status=(415,))


def suites():
    yield "malformed connect, single messages", bare()
    yield "malformed connect, GET", get()
    yield "malformed connect, streams", streams(CONNECT)
    for protocol in (GRPC, GRPC_WEB):
        name = protos.PROTOCOL_NAMES[protocol]
        yield f"malformed {name}, streams", streams(protocol)
        yield f"malformed {name}, headers", grpc(protocol)

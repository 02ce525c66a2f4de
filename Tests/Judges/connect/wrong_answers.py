"""Answers that break a protocol, and odd ones that do not, given to our client by hand."""

import gzip
import json
from dataclasses import dataclass

from . import cases, protos, wire
from .protos import CLIENT, CONNECT, GRPC, GRPC_WEB, JSON, PROTO, SERVER, UNARY

CANCELED, UNKNOWN, INVALID, DEADLINE, NOT_FOUND = 1, 2, 3, 4, 5
DENIED, EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 7, 8, 12, 13, 14
# A response that cannot be understood.
BROKEN = (INTERNAL, UNKNOWN)
# And one whose message cannot be read, which some call the caller's fault.
UNREADABLE = (INTERNAL, INVALID, UNKNOWN)
# However many answers; what is half may be read as a whole one with the beginning of what follows.
ANY = -1


@dataclass
class Script:
    """What the server answers, step by step, and what the client must say of it."""
    name: str
    protocol: int
    stream: int
    steps: list
    codes: tuple = ()
    answers: int | None = None
    message: str | None = None
    details: int | None = None
    trailers: tuple = ()
    headers: tuple = ()
    codec: int = PROTO

    def case(self):
        """The call to make."""
        call = cases.request(self.stream, cases.messages(self.stream, None))
        return cases.Case(self.name, call, codes=self.codes)

    async def play(self, stream):
        await stream.rest()
        for kind, *what in self.steps:
            if kind == "headers":
                stream.send_headers(*what)
            elif kind == "data":
                await stream.send(*what)
            elif kind == "reset":
                stream.reset(*what)
            elif kind == "abort":
                stream.connection.abort()
            elif kind == "goaway":
                stream.connection.act(lambda h2: h2.close_connection(error_code=what[0], last_stream_id=what[1]))

    def differences(self, result):
        found = []
        code = result.error.code if result.HasField("error") else 0
        if code not in (self.codes or (0,)):
            found.append(f"code {code} ({result.error.message}), not one of {self.codes or (0,)}")
        answers = self.answers if self.answers is not None else (0 if self.codes else 1)
        if answers != ANY and len(result.payloads) != answers:
            found.append(f"{len(result.payloads)} answers, not {answers}")
        if self.message is not None and result.error.message != self.message:
            found.append(f"the message {result.error.message!r}, not {self.message!r}")
        if self.details is not None and len(result.error.details) != self.details:
            found.append(f"{len(result.error.details)} details, not {self.details}")
        for what, wanted, given in [("trailer", self.trailers, result.response_trailers),
                                    ("header", self.headers, result.response_headers)]:
            values = {header.name: list(header.value) for header in given}
            for name, value in wanted:
                if values.get(name) != value:
                    found.append(f"the {what} {name} is {values.get(name)}, not {value}")
        return found


def head(protocol, is_bare=False, status="200", codec=PROTO, kind=None, **more):
    """Response headers; `more` with underscores."""
    kind = wire.content_type(protocol, codec, is_bare) if kind is None else kind
    fields = [(":status", status)] + ([("content-type", kind)] if kind else [])
    return fields + [(name.replace("_", "-"), value) for name, value in more.items()]


def answer(stream, data=b"answer", codec=PROTO):
    reply = protos.RESPONSES[protos.METHODS[stream]]
    return wire.encode(reply(payload=protos.service.ConformancePayload(data=data)), codec)


def envelope(stream, data=b"answer"):
    return wire.envelope(answer(stream, data))


def end(protocol, code=0, message="", fields=()):
    """The step that ends a call with a status."""
    error = protos.service.Error(code=code, message=message) if code else None
    if protocol == GRPC:
        return ("headers", wire.grpc_trailers(error, list(fields)), True)
    if protocol == GRPC_WEB:
        return ("data", wire.web_trailers(wire.grpc_trailers(error, list(fields))), True)
    return ("data", wire.connect_end(error, list(fields)), True)


# Statuses of HTTP that say something of a call that ended without saying it itself.
STATUSES = [(400, INTERNAL), (401, 16), (403, DENIED), (404, UNIMPLEMENTED), (429, UNAVAILABLE), (502, UNAVAILABLE),
            (503, UNAVAILABLE), (504, UNAVAILABLE)]
# Whatever else HTTP says has no code of its own.
STATUSES += [(status, UNKNOWN) for status in (204, 302, 405, 408, 409, 412, 413, 415, 418, 431, 500, 501)]
# RST_STREAM's codes.
RESETS = [(0, BROKEN), (1, (INTERNAL,)), (2, (INTERNAL,)), (3, (INTERNAL,)), (7, (UNAVAILABLE,)), (8, (CANCELED,)),
          (9, (INTERNAL,)), (11, (EXHAUSTED,)), (12, (DENIED,))]


def transport(protocol, stream):
    """What may go wrong below any protocol."""
    bare = protocol == CONNECT and stream == UNARY
    for code, codes in RESETS:
        yield Script(f"reset with {code} before headers", protocol, stream, [("reset", code)], codes)
        yield Script(f"reset with {code} after headers", protocol, stream, [
            ("headers", head(protocol, bare)), ("reset", code)], codes + ((CANCELED, UNAVAILABLE) if code in (7, 8) else ()))
    yield Script("the connection is cut", protocol, stream, [("abort",)], (UNAVAILABLE,))
    yield Script("the connection is cut after headers", protocol, stream, [
        ("headers", head(protocol, bare)), ("abort",)], (UNAVAILABLE, INTERNAL))
    for status, code in STATUSES:
        yield Script(f"HTTP {status} with text", protocol, stream, [
            ("headers", head(protocol, status=str(status), kind="text/html")), ("data", b"<html>", True)], (code,))
        yield Script(f"HTTP {status} without a body", protocol, stream, [
            ("headers", head(protocol, status=str(status), kind=""), True)], (code,))
    yield Script("another content type", protocol, stream, [
        ("headers", head(protocol, kind="text/html")), ("data", b"<html>", True)], BROKEN)
    yield Script("no content type", protocol, stream, [
        ("headers", head(protocol, kind="")), ("data", b"?", True)], BROKEN)
    yield Script("another codec", protocol, stream, [
        ("headers", head(protocol, bare, codec=JSON)), ("data", b"{}" if bare else wire.envelope(b"{}"), bare)]
        + ([] if bare else [end(protocol)]), BROKEN)


def enveloped(protocol, stream):
    """What may go wrong in envelopes."""
    name = "connect-content-encoding" if protocol == CONNECT else "grpc-encoding"
    many = stream == SERVER
    good = envelope(stream)

    def script(title, *steps, codes=(), head_fields=None, **more):
        begin = ("headers", head(protocol, **(head_fields or {})))
        return Script(title, protocol, stream, [begin, *steps], codes, **more)

    def coded(encoding):
        return {name: encoding}
    ok = end(protocol)
    yield script("a good answer", ("data", good), ok)
    yield script("no answer", ok, codes=() if many else (UNIMPLEMENTED,), answers=0)
    yield script("two answers", ("data", good * 2), ok, codes=() if many else (UNIMPLEMENTED,), answers=2 if many else 0)
    yield script("an answer in pieces", *[("data", good[index:index + 1]) for index in range(len(good))], ok)
    yield script("an answer, then an error", ("data", good), end(protocol, NOT_FOUND, "gone"), codes=(NOT_FOUND,),
                 message="gone", answers=1 if many else 0)
    yield script("an error after headers", end(protocol, NOT_FOUND, "gone", [("x-trailer", "one"), ("x-trailer", "two")]),
                 codes=(NOT_FOUND,), message="gone", trailers=(("x-trailer", ["one", "two"]),))
    yield script("trailers with bytes", ("data", good), end(protocol, 0, "", [("x-some-bin", "AAEC/w"), ("x-some-bin", "AAEC")]),
                 trailers=(("x-some-bin", ["AAEC/w", "AAEC"]),))
    yield script("half an answer", ("data", good[:-2]), ok, codes=UNREADABLE, answers=ANY)
    yield script("half a prefix", ("data", good[:3]), ok, codes=UNREADABLE, answers=ANY)
    yield script("half an answer and the end of the stream", ("data", good[:-2], True), codes=UNREADABLE, answers=0)
    yield script("no end", ("data", good, True), codes=BROKEN + (UNAVAILABLE,), answers=1 if many else 0)
    yield script("nothing at all", ("data", b"", True), codes=BROKEN + (UNAVAILABLE,), answers=0)
    yield script("no protobuf", ("data", wire.envelope(b"\x0a\xff\xff\xff\xff\x0f")), ok, codes=UNREADABLE, answers=0)
    yield script("compressed without an encoding", ("data", wire.envelope(gzip.compress(good[5:]), 1)), ok,
                 codes=(INTERNAL,), answers=0)
    yield script("compressed under identity", ("data", wire.envelope(gzip.compress(good[5:]), 1)), ok, codes=(INTERNAL,),
                 answers=0, head_fields=coded("identity"))
    for name_of_flag, fields in [("without an encoding", None), ("under identity", coded("identity"))]:
        yield script(f"an empty message compressed {name_of_flag}", ("data", wire.envelope(b"", 1)), ok, codes=(INTERNAL,),
                     answers=0, head_fields=fields)
    for title, body in [("nothing at all", b""), ("nothing in gzip", gzip.compress(b""))]:
        yield script(f"{title} for a compressed message", ("data", wire.envelope(body, 1)), ok, head_fields=coded("gzip"))
    yield script("an unknown encoding", ("data", wire.envelope(good[5:], 1)), ok, codes=(INTERNAL,), answers=0,
                 head_fields=coded("br"))
    yield script("an unknown encoding that is not used", ("data", good), ok, codes=(INTERNAL,), answers=0,
                 head_fields=coded("zstd"))
    yield script("gzip", ("data", wire.envelope(gzip.compress(good[5:]), 1)), ok, head_fields=coded("gzip"))
    yield script("gzip named and not used", ("data", good), ok, head_fields=coded("gzip"))
    yield script("no gzip", ("data", wire.envelope(b"not compressed", 1)), ok, codes=UNREADABLE, answers=0,
                 head_fields=coded("gzip"))
    yield script("half a gzip", ("data", wire.envelope(gzip.compress(good[5:])[:-6], 1)), ok, codes=UNREADABLE, answers=0,
                 head_fields=coded("gzip"))
    yield script("unknown flags", ("data", wire.envelope(good[5:], 0x08)), ok, codes=UNREADABLE, answers=0)
    yield script("more claimed than is read", ("data", wire.envelope(b"", length=(1 << 31))), ok,
                 codes=(EXHAUSTED, INTERNAL), answers=0)


def grpc():
    for stream in (UNARY, CLIENT, SERVER):
        name = protos.STREAM_NAMES[stream]
        good, many = ("data", envelope(stream)), stream == SERVER

        def only(title, fields, codes, **more):
            return Script(f"{name}, {title}", GRPC, stream, [("headers", head(GRPC) + fields, True)], codes, **more)

        def ended(title, fields, codes, **more):
            more.setdefault("answers", 1 if many else None)
            return Script(f"{name}, {title}", GRPC, stream, [
                ("headers", head(GRPC)), good, ("headers", fields, True)], codes, **more)
        yield only("trailers only", [("grpc-status", "5"), ("grpc-message", "gone"), ("x-some", "value")], (NOT_FOUND,),
                   message="gone", trailers=(("x-some", ["value"]),))
        yield only("trailers only with success", [("grpc-status", "0")], () if many else (UNIMPLEMENTED,), answers=0)
        for status in ("", "abc", "-1", "17", "4294967296", "99999999999999999999"):
            yield ended(f"the status {status!r}", [("grpc-status", status)], BROKEN)
        yield ended("no status in trailers", [("x-some", "value")], BROKEN)
        yield ended("a message in escapes", [("grpc-status", "5"), ("grpc-message", "%C3%A4 50%25 %zz %e2%98%ba")], (NOT_FOUND,),
                    message="ä 50% %zz ☺")
        yield ended("a message that is not UTF-8", [("grpc-status", "5"), ("grpc-message", "%ff%fe!")], (NOT_FOUND,))
        status = wire.grpc_trailers(protos.service.Error(code=5, message="gone", details=cases.DETAILS), [])
        yield ended("details", status, (NOT_FOUND,), message="gone", details=2)
        padded = [(field, value + "=" * (-len(value) % 4) if field.endswith("-bin") else value) for field, value in status]
        yield ended("details with padding", padded, (NOT_FOUND,), message="gone", details=2)
        yield ended("details that are none", [("grpc-status", "5"), ("grpc-message", "gone"),
                                              ("grpc-status-details-bin", "!!!")], (NOT_FOUND, *BROKEN))
        yield ended("bytes joined by commas", [("grpc-status", "0"), ("x-some-bin", "AAEC/w==,AAEC")], (), answers=1,
                    trailers=(("x-some-bin", ["AAEC/w", "AAEC"]),))
        yield Script(f"{name}, HTTP 404 with a status of gRPC", GRPC, stream, [
            ("headers", head(GRPC, status="404") + [("grpc-status", "5")], True)], (NOT_FOUND, UNIMPLEMENTED))
        yield Script(f"{name}, headers twice", GRPC, stream, [
            ("headers", [(":status", "103"), ("link", "<x>")]), ("headers", head(GRPC)), good,
            ("headers", [("grpc-status", "0")], True)], ())


def grpc_web():
    for stream in (UNARY, CLIENT, SERVER):
        name = protos.STREAM_NAMES[stream]
        good, many = ("data", envelope(stream)), stream == SERVER

        def block(title, text, codes=(), flags=wire.WEB_TRAILERS, more_data=b"", **more):
            more.setdefault("answers", 1 if many or not codes else 0)
            body = wire.envelope(text if isinstance(text, bytes) else text.encode(), flags)
            return Script(f"{name}, {title}", GRPC_WEB, stream, [
                ("headers", head(GRPC_WEB, grpc_encoding="gzip")), good, ("data", body + more_data, True)], codes, **more)
        yield block("no blanks", "grpc-status:0\r\nx-some:value\r\n", trailers=(("x-some", ["value"]),))
        yield block("names in upper case", "Grpc-Status: 0\r\nX-Some: value\r\n", trailers=(("x-some", ["value"]),))
        yield block("no line end at the end", "grpc-status: 0\r\nx-some: value", trailers=(("x-some", ["value"]),))
        yield block("an empty line at the end", "grpc-status: 0\r\n\r\n")
        yield block("line feeds alone", "grpc-status: 5\ngrpc-message: gone\n", (NOT_FOUND, *BROKEN))
        yield block("compressed", gzip.compress(b"grpc-status: 5\r\ngrpc-message: gone\r\n"), (NOT_FOUND,), flags=0x81,
                    message="gone")
        yield block("no status", "x-some: value\r\n", BROKEN)
        yield block("an empty block", "", BROKEN)
        yield block("a line without a colon", "grpc-status\r\n", BROKEN)
        yield block("a message in escapes", "grpc-status: 5\r\ngrpc-message: %C3%A4 50%25\r\n", (NOT_FOUND,), message="ä 50%")
        yield block("bytes after the trailers", "grpc-status: 5\r\n", (NOT_FOUND, *BROKEN), more_data=b"\0\0")
        yield Script(f"{name}, trailers only in headers", GRPC_WEB, stream, [
            ("headers", head(GRPC_WEB, grpc_status="5", grpc_message="gone", x_some="value"), True)], (NOT_FOUND,), message="gone")
        yield Script(f"{name}, trailers of HTTP", GRPC_WEB, stream, [
            ("headers", head(GRPC_WEB)), good, ("headers", [("grpc-status", "0")], True)], BROKEN, answers=1 if many else 0)


def connect_streams():
    for stream in (CLIENT, SERVER):
        name = protos.STREAM_NAMES[stream]
        good, many = ("data", envelope(stream)), stream == SERVER

        def last(title, text, codes=(), flags=wire.CONNECT_END, rest=b"", **more):
            more.setdefault("answers", 1 if many or not codes else 0)
            body = wire.envelope(text if isinstance(text, bytes) else text.encode(), flags)
            return Script(f"{name}, {title}", CONNECT, stream, [
                ("headers", head(CONNECT, connect_content_encoding="gzip")), good, ("data", body + rest, True)], codes, **more)
        yield last("an empty object", "{}")
        yield last("compressed", gzip.compress(b'{"error": {"code": "not_found"}}'), (NOT_FOUND,), flags=3)
        yield last("null for no error", '{"error": null}')
        yield last("metadata", '{"metadata": {"X-Some": ["one", "two"]}}', trailers=(("x-some", ["one", "two"]),))
        yield last("an error with metadata", '{"error": {"code": "not_found", "message": "gone"}, "metadata": {"x-some": ["1"]}}',
                   (NOT_FOUND,), message="gone", trailers=(("x-some", ["1"]),))
        yield last("an error without a code", '{"error": {"message": "gone"}}', BROKEN)
        yield last("an unknown code", '{"error": {"code": "lost", "message": "gone"}}', BROKEN)
        yield last("details", '{"error": {"code": "not_found", "details": [{"type": "google.rpc.RetryInfo", "value": "CgIIBQ"}, '
                   '{"type": "google.rpc.RetryInfo", "value": "CgIIBQ=="}]}}', (NOT_FOUND,), details=2)
        yield last("no JSON", "not json", BROKEN)
        yield last("nothing", "", BROKEN)
        yield last("a list", "[]", BROKEN)
        yield last("unknown members", '{"later": 1}')
        yield last("an envelope after it", "{}", BROKEN, rest=envelope(stream))


def connect_bare():
    def bare(title, body, codes=(), status="200", kind="application/json", fields=(), **more):
        body = body if isinstance(body, bytes) else body.encode()
        return Script(title, CONNECT, UNARY, [
            ("headers", head(CONNECT, True, status=status, kind=kind) + list(fields)), ("data", body, True)], codes, **more)
    good, proto = answer(UNARY), "application/proto"
    yield bare("a good answer", good, kind=proto, fields=[("trailer-x-some", "value"), ("x-other", "one")],
               trailers=(("x-some", ["value"]),), headers=(("x-other", ["one"]),))
    yield bare("an empty answer", b"", kind=proto)
    yield bare("an empty answer under gzip", b"", kind=proto, fields=[("content-encoding", "gzip")])
    yield bare("gzip", gzip.compress(good), kind=proto, fields=[("content-encoding", "gzip")])
    yield bare("an unknown encoding", good, (INTERNAL,), kind=proto, fields=[("content-encoding", "br")])
    yield bare("no gzip", b"not compressed", UNREADABLE, kind=proto, fields=[("content-encoding", "gzip")])
    yield bare("no protobuf", b"\x0a\xff\xff\xff\xff\x0f", UNREADABLE, kind=proto)
    yield bare("an error", json.dumps({"code": "not_found", "message": "gone"}), (NOT_FOUND,), "404", message="gone",
               fields=[("trailer-x-some", "value"), ("x-other", "one")], trailers=(("x-some", ["value"]),))
    yield bare("an error under gzip", gzip.compress(b'{"code": "not_found", "message": "gone"}'), (NOT_FOUND,), "404",
               message="gone", fields=[("content-encoding", "gzip")])
    for code in range(1, 17):
        for status in {"400", str(wire.HTTP_OF_CODE[wire.CODES[code]]), "503"}:
            yield bare(f"the code {wire.CODES[code]} under HTTP {status}", json.dumps({"code": wire.CODES[code]}), (code,), status)
    for status, code in STATUSES:
        if status in (204, 302):
            continue
        for title, body in [("no code", '{"message": "gone"}'), ("an unknown code", '{"code": "lost"}'), ("null", "null"),
                            ("an empty object", "{}"), ("no JSON", "{"), ("a list", "[]"), ("a code that is no text", '{"code": 5}')]:
            yield bare(f"{title} under HTTP {status}", body, (code,), str(status))
    yield bare("an error that says it is text", '{"code": "not_found"}', (UNAVAILABLE,), "503", kind="text/plain")
    yield bare("details", '{"code": "not_found", "details": [{"type": "google.rpc.RetryInfo", "value": "CgIIBQ"}, '
               '{"type": "google.rpc.RetryInfo", "value": "CgIIBQ==", "debug": {"retryDelay": "5s"}}]}', (NOT_FOUND,), "404", details=2)
    yield bare("a detail that is none", '{"code": "not_found", "details": [{"type": "google.rpc.RetryInfo", "value": "!!!"}]}',
               (NOT_FOUND,), "404")
    yield bare("a charset", '{"code": "not_found"}', (NOT_FOUND,), "404", kind="application/json; charset=utf-8")


def suites():
    """All scripts by the name of their suite."""
    for protocol in (CONNECT, GRPC, GRPC_WEB):
        name = protos.PROTOCOL_NAMES[protocol]
        for stream in (UNARY, CLIENT, SERVER):
            kind = protos.STREAM_NAMES[stream]
            yield f"wrong {name} {kind}, transport", list(transport(protocol, stream))
            if protocol != CONNECT or stream != UNARY:
                yield f"wrong {name} {kind}, envelopes", list(enveloped(protocol, stream))
    yield "wrong grpc, trailers", list(grpc())
    yield "wrong grpc-web, trailers", list(grpc_web())
    yield "wrong connect, last envelopes", list(connect_streams())
    yield "wrong connect, single messages", list(connect_bare())


class Player:
    """Plays the scripts that the requests' x-case names; give `serve` to a listener."""

    def __init__(self):
        self.scripts = {}

    async def serve(self, stream):
        await self.scripts[wire.first(stream.headers, "x-case")].play(stream)

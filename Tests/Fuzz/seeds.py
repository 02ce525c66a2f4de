#!/usr/bin/env python3
"""seeds.py: writes the seed corpora of Tests/Fuzz/Corpus, each file an input as its target reads it. The same on every run.

It writes its own seeds and touches nothing else: files whose names begin with `found-` are inputs that once broke something, and what
fuzzing has learned is named by its digest. A seed that is given up is deleted by hand.
"""
import gzip
import io
import pathlib
import struct
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent / "Corpus"
ECHO = "/parley.testing.v1.EchoService/"


# --- The wire formats, as far as seeds need them -------------------------------------------------------------------------------

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytearray([value]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed32(number, value):
    return varint(number << 3 | 5) + struct.pack("<I", value)


def group(number, content):
    return varint(number << 3 | 3) + content + varint(number << 3 | 4)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def hpack(fields):
    def text(value):
        value = value.encode() if isinstance(value, str) else value
        if len(value) < 127:
            return bytes([len(value)]) + value
        return b"\x7f" + varint(len(value) - 127) + value
    return b"".join(b"\x00" + text(name) + text(value) for name, value in fields)


def headers(stream, fields, ends=False):
    return frame(1, 5 if ends else 4, stream, hpack(fields))


def data(stream, content, ends=True):
    return frame(0, 1 if ends else 0, stream, content)


def envelope(content, flags=0):
    return bytes([flags]) + struct.pack(">I", len(content)) + content


def request(stream, path, kind, extra=(), method="POST", ends=False):
    fields = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "a")]
    if kind:
        fields += [("te", "trailers"), ("content-type", kind)]
    return headers(stream, fields + list(extra), ends)


def gzipped(content):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as stream:
        stream.write(content)
    return out.getvalue()


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = frame(4, 0, 0, struct.pack(">HIHI", 3, 100, 4, 65535))
ECHO_REQUEST = field(1, "hi") + field(2, b"\x00\xff") + field(3, 7)


# --- http2-server --------------------------------------------------------------------------------------------------------------

def server():
    def seed(frames, options=0, second=0):
        return bytes([options, second]) + frames

    def call(stream, method, message, kind="application/grpc", extra=(), plain=False):
        return request(stream, ECHO + method, kind, extra) + data(stream, message if plain else envelope(message))

    grpc, web, connect = "application/grpc", "application/grpc-web+proto", "application/connect+proto"
    yield "handshake", seed(PREFACE + SETTINGS + frame(4, 1, 0), 1)
    yield "whole-call", seed(PREFACE + SETTINGS + frame(4, 1, 0) + call(1, "Echo", ECHO_REQUEST), 1)
    yield "in-pieces", seed(PREFACE + SETTINGS + call(1, "Echo", ECHO_REQUEST), 1 | 16, 3)
    messages = {
        "Echo": ECHO_REQUEST, "EchoTree": field(1, field(1, "a") + field(2, field(1, "b") + field(3, field(6, "c")))),
        "EchoStruct": field(1, field(1, field(1, "k") + field(2, field(3, "v")))),
        "EchoDescriptor": field(1, field(1, "a.proto") + field(2, "p")), "Fail": field(1, 5) + field(2, "grün") + field(3, "R"),
        "Sleep": b"", "Metadata": field(1, field(1, "x-a") + field(2, "b")) + field(2, field(1, "x-t-bin") + field(2, "c")),
        "Count": field(1, 3) + field(2, 8), "Sum": field(1, 7), "Chat": field(1, "a"), "Guarded": b"",
    }
    for method, message in messages.items():
        for name, kind in (("grpc", grpc), ("web", web), ("connect", connect)):
            yield f"{name}-{method.lower()}", seed(call(1, method, message, kind))
        yield f"unary-{method.lower()}", seed(call(1, method, message, "application/proto", plain=True))
    yield "fail-unexpected", seed(call(1, "Fail", field(1, 99)))
    yield "json-unary", seed(call(1, "Echo", b'{"text":"a","sequence":"5"}', "application/json", plain=True))
    yield "json-stream", seed(call(1, "Chat", b'{"text":"a"}', "application/connect+json"))
    yield "json-grpc", seed(call(1, "Echo", b'{"text":"a"}', "application/grpc+json"))
    yield "gzip-request", seed(request(1, ECHO + "Echo", grpc, [("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip")])
                               + data(1, envelope(gzipped(ECHO_REQUEST), 1)), 8)
    yield "deflate-request", seed(request(1, ECHO + "Echo", connect, [("connect-content-encoding", "deflate")])
                                  + data(1, envelope(zlib.compress(ECHO_REQUEST), 1)))
    yield "gzip-unary", seed(request(1, ECHO + "Echo", "application/proto", [("content-encoding", "gzip"), ("accept-encoding", "gzip")])
                             + data(1, gzipped(field(1, "a" * 64))), 8)
    yield "connect-get", seed(request(1, ECHO + "Echo?connect=v1&base64=1&encoding=proto&message=CgJoaQ", None, method="GET", ends=True))
    yield "preflight", seed(request(1, ECHO + "Echo", None, [("origin", "https://app.example.com"), ("access-control-request-method", "POST"),
                                                             ("access-control-request-headers", "x-a")], "OPTIONS", True), 8)
    yield "hook", seed(request(1, "/hook?name=ann", None, [("content-length", "2")]) + data(1, b"ab"))
    yield "hook-get", seed(request(1, "/hook", None, method="GET", ends=True))
    yield "unknown-path", seed(request(1, "/nowhere", None, method="GET", ends=True))
    yield "deadline", seed(call(1, "Sleep", b"", extra=[("grpc-timeout", "1n")]))
    yield "binary-metadata", seed(call(1, "Metadata", b"", extra=[("x-a-bin", "AQID,BAUG"), ("x-b", "c")]))
    yield "two-messages", seed(request(1, ECHO + "Sum", grpc) + data(1, envelope(field(1, 1)) + envelope(field(1, 2)), False) + data(1, b""))
    yield "split-message", seed(request(1, ECHO + "Chat", grpc) + data(1, envelope(field(1, "abc"))[:6], False)
                                + data(1, envelope(field(1, "abc"))[6:]), 2)
    yield "padded", seed(request(1, ECHO + "Echo", grpc) + frame(0, 9, 1, b"\x03" + envelope(b"") + b"\0\0\0"))
    yield "request-trailers", seed(request(1, ECHO + "Sum", grpc) + data(1, envelope(field(1, 1)), False) + headers(1, [("x-a", "b")], True))
    yield "continuation", seed(frame(1, 0, 1, hpack([(":method", "POST"), (":scheme", "http")]))
                               + frame(9, 4, 1, hpack([(":path", ECHO + "Echo"), (":authority", "a"), ("content-type", grpc)]))
                               + data(1, envelope(ECHO_REQUEST)))
    yield "reset", seed(call(1, "Sleep", b"") + frame(3, 0, 1, struct.pack(">I", 8)))
    yield "reset-reopened", seed(b"".join(request(n, ECHO + "Sleep", grpc) + frame(3, 0, n, b"\0\0\0\x08") for n in range(1, 20, 2)), 2)
    yield "goaway", seed(call(1, "Count", field(1, 3)) + frame(7, 0, 0, bytes(8)))
    yield "small-windows", seed(frame(4, 0, 0, struct.pack(">HI", 4, 3)) + call(1, "Count", field(1, 4) + field(2, 64))
                                + frame(8, 0, 1, struct.pack(">I", 1000)), 2)
    yield "window-overflow", seed(frame(8, 0, 0, b"\x7f\xff\xff\xff") + frame(8, 0, 0, b"\x7f\xff\xff\xff"))
    yield "table-size", seed(frame(4, 0, 0, struct.pack(">HIHI", 1, 0, 5, 32768)) + call(1, "Metadata", b"") + call(3, "Fail", field(1, 3)))
    yield "priority", seed(frame(2, 0, 3, b"\0\0\0\0\x0f") + frame(1, 0x25, 3, b"\0\0\0\0\x0f" + hpack([(":method", "GET")])))
    yield "pings", seed(b"".join(frame(6, 0, 0, bytes(8)) for _ in range(40)), 4)
    yield "settings-flood", seed(b"".join(frame(4, 0, 0) for _ in range(40)), 4)
    yield "unknown-frame", seed(frame(0xfa, 0xff, 5, b"abc") + call(1, "Echo", b""))
    yield "indexed", seed(frame(1, 5, 1, b"\x82\x86\x84\x41\x01a"))
    yield "many-calls", seed(b"".join(call(n, "Echo", ECHO_REQUEST) for n in range(1, 16, 2)), 8)
    yield "too-many-handlers", seed(b"".join(call(n, "Sleep", b"") for n in range(1, 8, 2)), 8)
    yield "long-headers", seed(call(1, "Echo", b"", extra=[(f"x-{n}", "v" * 90) for n in range(12)]), 8)
    yield "too-large-message", seed(request(1, ECHO + "Echo", grpc) + data(1, b"\0\xff\xff\xff\xff"))
    yield "drained", seed(call(1, "Count", field(1, 9) + field(2, 32)) + call(3, "Sleep", b""), 64 | 2)
    yield "deaf", seed(b"".join(call(n, "Count", field(1, 64) + field(2, 4096)) for n in range(1, 6, 2)), 4)
    yield "abrupt", seed(call(1, "Chat", field(1, "a"))[:-1], 32)
    yield "reflection", seed(request(1, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", grpc)
                             + data(1, envelope(field(7, "*")) + envelope(field(4, "parley.testing.v1.EchoService"))))
    yield "health", seed(request(1, "/grpc.health.v1.Health/Check", grpc) + data(1, envelope(b""))
                         + request(3, "/grpc.health.v1.Health/Watch", grpc) + data(3, envelope(field(1, "echo"))))


# --- http2-client --------------------------------------------------------------------------------------------------------------

def client():
    def seed(frames, options=0, calls=1):
        return bytes([options, calls]) + frames

    grpc, ok = [(":status", "200"), ("content-type", "application/grpc")], [("grpc-status", "0")]
    web = [(":status", "200"), ("content-type", "application/grpc-web+proto")]
    connect = [(":status", "200"), ("content-type", "application/connect+proto")]
    answer = headers(1, grpc) + data(1, envelope(ECHO_REQUEST), False) + headers(1, ok + [("x-t-bin", "AQ")], True)
    yield "unary", seed(answer)
    yield "whole", seed(SETTINGS + frame(4, 1, 0) + answer, 16)
    yield "trailers-only", seed(headers(1, grpc + [("grpc-status", "5"), ("grpc-message", "gr%C3%BCn")], True))
    yield "details", seed(headers(1, grpc + [("grpc-status", "8"), ("grpc-status-details-bin", "CAgSAW0aNAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIAQ")], True))
    yield "pushback", seed(headers(1, grpc + [("grpc-status", "10"), ("grpc-retry-pushback-ms", "0")], True), 0, 64 | 1)
    yield "retried", seed(headers(1, grpc + [("grpc-status", "10")], True) + headers(3, grpc + [("grpc-status", "10")], True), 32, 64 | 1)
    yield "stream", seed(headers(1, grpc) + b"".join(data(1, envelope(field(1, n)), False) for n in (1, 2, 3)) + headers(1, ok, True), 32, 2)
    yield "sum", seed(headers(1, grpc) + data(1, envelope(field(1, 10) + field(2, 4)), False) + headers(1, ok, True), 0, 4)
    yield "chat", seed(headers(1, grpc) + b"".join(data(1, envelope(field(1, "a")), False) for _ in range(3)) + headers(1, ok, True), 32, 8)
    yield "all-calls", seed(b"".join(headers(n, grpc) + data(n, envelope(b""), False) + headers(n, ok, True) for n in (1, 3, 5, 7)), 32, 15)
    yield "gzip", seed(headers(1, grpc + [("grpc-encoding", "gzip")]) + data(1, envelope(gzipped(ECHO_REQUEST), 1), False) + headers(1, ok, True), 8)
    yield "web", seed(headers(1, web) + data(1, envelope(ECHO_REQUEST) + envelope(b"grpc-status: 0\r\nx-a: b\r\n", 0x80)), 2)
    yield "web-failed", seed(headers(1, web) + data(1, envelope(b"grpc-status:5\r\ngrpc-message:m\r\n", 0x80)), 2)
    yield "connect", seed(headers(1, [(":status", "200"), ("content-type", "application/proto"), ("trailer-x-a", "b")]) + data(1, ECHO_REQUEST), 3)
    yield "connect-json", seed(headers(1, [(":status", "200"), ("content-type", "application/json")]) + data(1, b'{"text":"a"}'), 3 | 4)
    yield "connect-get", seed(headers(1, [(":status", "200"), ("content-type", "application/json")]) + data(1, b"{}"), 3 | 4, 16 | 1)
    yield "connect-failed", seed(headers(1, [(":status", "404"), ("content-type", "application/json")])
                                 + data(1, b'{"code":"not_found","message":"m","details":[{"type":"google.rpc.RetryInfo","value":"CgIIAQ"}]}'), 3)
    yield "connect-stream", seed(headers(1, connect) + data(1, envelope(field(1, 1)) + envelope(b'{"metadata":{"x-a":["b"]}}', 2)), 3, 2)
    yield "connect-stream-failed", seed(headers(1, connect) + data(1, envelope(b'{"error":{"code":"aborted","message":"m"}}', 2)), 3, 2)
    yield "http-error", seed(headers(1, [(":status", "503"), ("content-type", "text/html"), ("retry-after", "1")]) + data(1, b"<html>"))
    yield "early-hints", seed(headers(1, [(":status", "103")]) + answer)
    yield "reset", seed(headers(1, grpc) + frame(3, 0, 1, b"\0\0\0\x07"), 32)
    yield "goaway", seed(frame(7, 0, 0, b"\0\0\0\x01\0\0\0\x0btoo_many_pings") + answer, 32, 15)
    yield "goaway-unsent", seed(frame(7, 0, 0, bytes(8)), 32, 15)
    yield "one-stream", seed(frame(4, 0, 0, struct.pack(">HI", 3, 1)) + answer + answer.replace(b"\0\0\0\x01", b"\0\0\0\x03"), 32, 15)
    yield "no-stream", seed(frame(4, 0, 0, struct.pack(">HI", 3, 0)), 32, 15)
    yield "push", seed(frame(5, 4, 1, b"\0\0\0\x02" + hpack([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")])))
    yield "cancelled", seed(headers(1, grpc) + frame(6, 0, 0, bytes(8)) + data(1, envelope(b""), False), 32, 128 | 15)
    yield "narrow", seed(headers(1, grpc) + data(1, envelope(field(1, "a" * 100)), False) + headers(1, ok, True), 128)
    yield "small-window", seed(frame(4, 0, 0, struct.pack(">HI", 4, 2)) + frame(8, 0, 1, b"\0\0\0\x10") + answer, 32, 12)
    yield "deaf", seed(answer, 64, 15)


# --- framing -------------------------------------------------------------------------------------------------------------------

def framing():
    retry = field(1, "type.googleapis.com/google.rpc.RetryInfo") + field(2, field(1, field(1, 1) + field(2, 5)))
    info = field(1, "type.googleapis.com/google.rpc.ErrorInfo") + field(2, field(1, "R") + field(2, "d") + field(3, field(1, "k") + field(2, "v")))
    bad = field(1, "type.googleapis.com/google.rpc.BadRequest") + field(2, field(1, field(1, "f") + field(2, "d")))
    error = b'{"code":"not_found","message":"m","details":[{"type":"google.rpc.RetryInfo","value":"CgIIAQ","debug":{"retryDelay":"1s"}}]}'
    content = [
        ("envelopes", envelope(b"abc") + envelope(b"", 1) + envelope(b"x", 0x80)),
        ("trailers", b"grpc-status: 0\r\ngrpc-message: a%20b\r\nx-a-bin: AQ\r\n"),
        ("end-of-stream", b'{"error":' + error + b',"metadata":{"x-a":["b","c"],"x-b-bin":["AQI="]}}'),
        ("connect-error", error), ("timeout", b"99999999H"), ("percent", b"gr%C3%BCn %zz%"), ("base64", b"AQID"),
        ("content-type", b"application/grpc-web+proto; charset=utf-8"),
        ("details", field(1, 8) + field(2, "m") + field(3, retry) + field(3, info) + field(3, bad) + field(3, field(1, "a/b") + field(2, b"\1"))),
        ("get", b"connect=v1&base64=1&encoding=proto&compression=gzip&message=CgJo%61Q"),
        ("gzip", gzipped(b"a" * 1000)), ("deflate", zlib.compress(b"abc" * 100)), ("compress", b"abcabcabc" * 10),
        ("status", "grün\r\n".encode() + b"\0" + b"value"),
    ]
    for index, (name, value) in enumerate(content):
        yield name, bytes([index]) + value
    for name, value in (("timeout-short", b"1n"), ("timeout-connect", b"9999999999"), ("timeout-milli", b"1000m"), ("timeout-micro", b"99999999u")):
        yield name, b"\4" + value
    yield "accept-encoding", b"\7gzip;q=0, deflate;q=0.5, identity"
    yield "gzip-cut", bytes([10]) + gzipped(b"a" * 1000)[:-4]
    yield "gzip-bomb", bytes([10]) + gzipped(bytes(1 << 20))


# --- messages ------------------------------------------------------------------------------------------------------------------

def everything_numbers():
    """One field of each kind at low numbers, in the forms that the wire has for it."""
    out = b""
    for number in range(1, 16):
        out += field(number, number)
    return out


def messages():
    inner = field(1, 5) + field(3, "text")
    tree = field(1, "a") + field(2, field(1, "b")) + field(3, field(1, "c")) + field(4, field(1, "k") + field(2, field(1, "d"))) + field(6, "leaf")
    deep = field(1, "x")
    for _ in range(99):
        deep = field(2, deep)
    value = lambda content: field(1, field(1, "k") + field(2, content))
    seeds = [
        ("everything-numbers", 0, everything_numbers()), ("everything-bytes", 0, b"".join(field(n, "a") for n in range(9, 40))),
        ("everything-fixed", 0, b"".join(fixed32(n, n) for n in range(1, 40)) + b"".join(field(n, 1.5) for n in range(1, 40))),
        ("everything-inner", 0, b"".join(field(n, inner) for n in range(9, 60))),
        ("everything-packed", 0, b"".join(field(n, b"\1\2\3\xff\1") for n in range(9, 60))),
        ("unknown-group", 0, group(900, field(1, 5) + group(2, b"")) + field(1, 4)),
        ("all-types", 1, b"".join(field(n, n) for n in range(1, 9)) + field(14, "s") + field(15, b"\0") + field(18, field(1, 1))),
        ("all-types-repeated", 1, b"".join(field(n, b"\1\2") for n in range(31, 56))),
        ("all-types-maps", 1, b"".join(field(n, field(1, 1) + field(2, 2)) for n in range(56, 70))
         + b"".join(field(n, field(1, "k") + field(2, "v")) for n in range(69, 76))),
        ("all-types-oneof", 1, field(111, 1) + field(112, field(1, 2)) + field(113, "s") + field(114, b"b")),
        ("all-types-wrappers", 1, b"".join(field(n, field(1, 1)) for n in range(201, 220))),
        ("all-types-well-known", 1, field(301, field(1, 1)) + field(302, field(1, 1)) + field(303, field(1, "a_b")) + field(304, value(field(3, "v")))
         + field(305, field(1, "type.googleapis.com/google.protobuf.Duration") + field(2, field(1, 1))) + field(306, field(2, 1.5))),
        ("tree", 2, tree), ("deep", 2, deep), ("too-deep", 2, field(2, deep)), ("echo", 3, ECHO_REQUEST),
        ("invalid-utf8", 3, field(1, b"\xff\xfe")), ("long-varint", 3, b"\x18" + b"\xff" * 9 + b"\1"), ("overlong", 3, b"\x18" + b"\xff" * 10 + b"\1"),
        ("past-end", 3, b"\x0a\xff\xff\xff\xff\x0f"), ("map", 4, field(1, field(1, "a") + field(2, "b")) + field(1, field(1, "a") + field(2, "c"))),
        ("struct", 5, value(field(1, 0)) + value(field(2, 1.5)) + value(field(4, 1)) + value(field(5, value(field(3, "x")))) + value(field(6, field(1, field(3, "y"))))),
        ("descriptor", 6, field(1, "a.proto") + field(2, "p") + field(4, field(1, "M") + field(2, field(1, "f") + field(3, 1) + field(4, 1) + field(5, 9))) + field(12, "proto3")),
        ("any", 7, field(1, "type.googleapis.com/parley.testing.v1.Tree") + field(2, tree)),
        ("any-in-any", 7, field(1, "a/google.protobuf.Any") + field(2, field(1, "a/google.protobuf.Any") + field(2, b""))),
        ("status", 8, field(1, 5) + field(2, "m") + field(3, field(1, "a/google.rpc.ErrorInfo") + field(2, field(1, "R")))),
        ("reflection", 9, field(1, "h") + field(4, field(1, b"abc")) + field(6, field(1, field(1, "s")))),
        ("conformance", 10, field(1, "n") + field(2, 1) + field(10, field(1, "a") + field(2, "b"))),
        ("timestamp", 11, field(1, 253402300799) + field(2, 999999999)), ("timestamp-early", 11, field(1, -62135596800)),
        ("field-mask", 12, field(1, "foo_bar.baz") + field(1, "a")), ("grpc-testing", 13, field(1, 1) + field(2, field(1, 5)) + field(3, field(2, b"x"))),
    ]
    for name, choice, content in seeds:
        yield name, bytes([choice]) + content


# --- json ----------------------------------------------------------------------------------------------------------------------

def json():
    texts = {
        0: ['{"a":[1,-0.5e+10,true,false,null,"\\u00e9\\ud83d\\ude00\\n"],"b":{}}', "[" * 100 + "]" * 100, '{"a":1,"a":2}', "1e400",
            '"\\ud800"', " [ ] ", "-0", "123456789012345678901234567890.5"],
        1: ['{"methodConfig":[{"name":[{"service":"s","method":"m"}],"timeout":"1.5s","waitForReady":true,"maxRequestMessageBytes":1,'
            '"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.1s","maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE",14]}}],'
            '"loadBalancingConfig":[{"round_robin":{}}],"retryThrottling":{"maxTokens":10,"tokenRatio":0.1}}'],
        2: ['{"int32Value":1,"int64Value":"2","uint64Value":"3","doubleValue":"NaN","boolValue":true,"stringValue":"a","bytesValue":"AQI="}'],
        3: ['{"optionalInt32":1,"optionalInt64":"2","optionalFloat":"Infinity","optionalBytes":"AA==","repeatedInt32":[1,2],"mapInt32Int32":{"1":2},'
            '"mapStringString":{"a":"b"},"optionalNestedMessage":{"a":1},"optionalNestedEnum":"BAR","oneofString":"x","optionalTimestamp":"1970-01-01T00:00:00Z",'
            '"optionalDuration":"1.5s","optionalFieldMask":"a,bC","optionalStruct":{"a":[1]},"optionalValue":null,"optionalBoolWrapper":true,'
            '"optionalAny":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}'],
        4: ['{"label":"a","left":{"label":"b"},"children":[{"leaf":"c"}],"named":{"k":{"number":5}}}', '{"left":' * 101 + "{}" + "}" * 101],
        5: ['{"a":null,"b":[1,"2",{"c":true}]}'], 6: ["[null,1]", "1.5", '"s"'], 7: ["[1,[2]]"],
        8: ['{"@type":"type.googleapis.com/parley.testing.v1.Tree","label":"a"}', '{"@type":"a/google.protobuf.Any","value":{}}', "{}",
            '{"@type":"a/google.protobuf.Any","value":{"@type":"a/google.protobuf.Timestamp","value":"2000-01-01T00:00:00Z"}}'],
        9: ['"9999-12-31T23:59:59.999999999Z"', '"0001-01-01T00:00:00Z"', '"2000-02-29T12:00:00.5+05:30"'],
        10: ['"-315576000000.999999999s"', '"1.5s"', '"-0.000000001s"'], 11: ['"fooBar.baz,a"', '""'], 12: ["{}"],
        13: ['"NaN"', "1.7976931348623157e308", "-0"], 14: ["3.4028235e38", '"-Infinity"'], 15: ['"-9223372036854775808"', "1e3"],
        16: ['"18446744073709551615"'], 17: ["-2147483648", "1.0"], 18: ["4294967295"], 19: ["true"], 20: ['"\\u0000a"'], 21: ['"-_8"', '"+/8="'],
        22: ['{"name":"a.proto","messageType":[{"name":"M","field":[{"name":"f","number":1,"label":"LABEL_OPTIONAL","type":"TYPE_STRING"}]}],"syntax":"proto3"}'],
        23: ['{"code":5,"message":"m","details":[{"@type":"a/google.rpc.ErrorInfo","reason":"R","metadata":{"k":"v"}}]}'],
    }
    for choice, each in texts.items():
        for index, text in enumerate(each):
            yield f"{choice:02}-{index}", bytes([choice]) + text.encode()


# --- tokens --------------------------------------------------------------------------------------------------------------------

def tokens():
    claims = ('{"iss":"https://accounts.google.com","aud":"web-client","sub":"1","exp":1800003600,"iat":1800000000,"nbf":1799999999,'
              '"azp":"web-client","email":"ann@example.com"}')
    yield "signed-es256", b"\1" + b'{"alg":"ES256","kid":"ec-1","typ":"JWT"}\0' + claims.encode()
    yield "signed-rs256", b"\2" + b'{"alg":"RS256","kid":"rsa-1"}\0' + claims.encode()
    yield "audiences", b"\1" + b'{"alg":"ES256","kid":"ec-1"}\0' + claims.replace('"web-client"', '["x","ios-client"]', 1).encode()
    yield "expired", b"\1" + b'{"alg":"ES256","kid":"ec-1"}\0' + claims.replace("1800003600", "1799999939").encode()
    yield "fraction", b"\1" + b'{"alg":"ES256","kid":"ec-1"}\0' + claims.replace("1800003600", "1.8000036e9").encode()
    yield "critical", b"\1" + b'{"alg":"ES256","kid":"ec-1","crit":["b64"],"b64":false}\0' + claims.encode()
    yield "wrong-kid", b"\1" + b'{"alg":"ES256","kid":"rsa-1"}\0' + claims.encode()
    yield "none", b"\0eyJhbGciOiJub25lIn0.e30."
    yield "unsigned", b"\0eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjLTEifQ.e30.AAAA"
    yield "encrypted", b"\0eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d"
    modulus = "sXch" + "A" * 337 + "Q"
    yield "jwks-rsa", b"\3" + ('{"keys":[{"kty":"RSA","kid":"r","use":"sig","alg":"RS256","n":"' + modulus + '","e":"AQAB"}]}').encode()
    yield "jwks-ec", (b"\3" + b'{"keys":[{"kty":"EC","kid":"e","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",'
                      b'"y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU","key_ops":["verify"]},{"kty":"oct","k":"AA"}]}')
    for name, command in (("pem-p256", "openssl ecparam -name prime256v1 -genkey -noout"), ("pem-ed25519", "openssl genpkey -algorithm ed25519")):
        yield name, command  # written once: a key is new each time
    yield "base64url", b"\5AQID-_8"
    yield "base64", b"\5AQI="


# --- waves ---------------------------------------------------------------------------------------------------------------------

def waves():
    def little(value, count):
        return value.to_bytes(count, "little")

    def chunk(name, content):
        return name + little(len(content), 4) + content + bytes(len(content) % 2)

    def sound(kind=1, channels=1, rate=8000, bits=16, more=b""):
        frame = channels * bits // 8
        return chunk(b"fmt ", little(kind, 2) + little(channels, 2) + little(rate, 4) + little(rate * frame, 4) + little(frame, 2) + little(bits, 2) + more)

    def riff(chunks, size=None):
        return b"RIFF" + little(len(chunks) + 4 if size is None else size, 4) + b"WAVE" + chunks

    data = chunk(b"data", bytes(range(24)))
    extended = little(22, 2) + little(16, 2) + little(4, 4) + bytes.fromhex("0100000000001000800000aa00389b71")
    yield "plain", riff(sound() + data)
    for bits in (8, 24, 32):
        yield f"bits-{bits}", riff(sound(channels=2, bits=bits) + data)
    yield "extended", riff(sound(kind=0xfffe, more=extended) + data)
    yield "chunks", riff(chunk(b"LIST", b"INFO") + sound(more=bytes(2)) + chunk(b"fact", bytes(4)) + data + chunk(b"id3 ", b"x"))
    yield "odd", riff(sound(bits=8) + chunk(b"data", b"abc")[:-1])
    yield "lying", riff(sound() + b"data" + little(0xffffffff, 4) + b"ab")
    yield "lying-whole", riff(sound() + data, 0xfffffff0)
    yield "rf64", b"RF64" + riff(chunk(b"ds64", bytes(28)) + sound() + data)[4:]
    yield "no-channels", riff(sound(channels=0) + data)
    yield "floats", riff(sound(kind=3, bits=32) + data)


# --- Dictionaries --------------------------------------------------------------------------------------------------------------

DICTIONARIES = {
    "http2-server": [
        ":method", ":path", ":scheme", ":authority", "POST", "GET", "HEAD", "OPTIONS", "application/grpc", "application/grpc-web+proto",
        "application/connect+proto", "application/connect+json", "application/json", "application/proto", "content-type", "content-length",
        "content-encoding", "te", "trailers", "grpc-timeout", "10S", "1n", "grpc-encoding", "grpc-accept-encoding", "gzip", "deflate", "identity",
        "connect-protocol-version", "connect-timeout-ms", "connect-content-encoding", "origin", "https://app.example.com", "x-a-bin",
        "access-control-request-method", "authorization", "cookie", "expect", "100-continue", "connection", "transfer-encoding", "upgrade",
        "/hook", ECHO + "Echo", ECHO + "Chat", ECHO + "Sum", ECHO + "Count", ECHO + "Fail", "?connect=v1&encoding=proto&base64=1&message=",
    ],
    "http2-client": [
        ":status", "200", "404", "100", "103", "204", "content-type", "application/grpc", "application/grpc-web+proto", "application/connect+proto",
        "application/connect+json", "application/json", "application/proto", "grpc-status", "grpc-message", "grpc-status-details-bin",
        "grpc-encoding", "gzip", "deflate", "grpc-retry-pushback-ms", "retry-after", "trailer-x-a", "x-a-bin", "connect-content-encoding",
        "content-encoding", "content-length", "too_many_pings", '{"error":{"code":"aborted"}}', '{"metadata":{}}', "grpc-status: 0\r\n",
    ],
    "framing": [
        "grpc-status: ", "grpc-message: ", "\r\n", '{"error":', '"code":"', '"message":"', '"details":[', '"metadata":{', '"debug":', '"value":"', '"type":"',
        "google.rpc.RetryInfo", "google.rpc.ErrorInfo", "google.rpc.BadRequest", "type.googleapis.com/", "application/", "grpc", "grpc-web", "connect", "+proto", "+json",
        "; charset=utf-8", "gzip", "deflate", "identity", ";q=0", "99999999", "base64=1", "compression=", "encoding=", "message=", "connect=v1", "%41",
        "\x1f\x8b\x08", "\x78\x9c",
    ],
    "messages": ["type.googleapis.com/", "google.protobuf.Any", "google.protobuf.Duration", "parley.testing.v1.Tree", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                 "\x80\x80\x80\x80\x08", "\x0b\x0c", "\xef\xbf\xbd", "proto3"],
    "json": ["{", "}", "[", "]", ":", ",", "null", "true", "false", '"NaN"', '"Infinity"', '"-Infinity"', "1e", "-0", ".0", "\\u0000", "\\ud83d\\ude00", "\\ud800",
             '"@type":"type.googleapis.com/', "google.protobuf.Any", "google.protobuf.Duration", "google.protobuf.Timestamp", "google.protobuf.Struct",
             "google.protobuf.Value", "google.protobuf.Empty", "google.protobuf.FieldMask", "parley.testing.v1.Tree", '"value":', "1970-01-01T00:00:00Z",
             "+23:59", "315576000000s", '"label":', '"left":', '"children":[', '"named":{', '"optionalAny":', '"optionalValue":', '"recursiveMessage":',
             '"methodConfig":', '"retryPolicy":', '"9223372036854775807"', '"18446744073709551615"'],
    "tokens": ['"alg":"', "RS256", "ES256", "none", "HS256", '"kid":"', '"typ":"JWT"', '"crit":', '"b64":', '"zip":', '"enc":', '"jku":', '"jwk":', '"x5c":',
               '"iss":"', "https://accounts.google.com", '"aud":', '"azp":', '"exp":', '"iat":', '"nbf":', '"sub":', "1800003600", "1800000000", "1e9", "-1",
               '"kty":"RSA"', '"kty":"EC"', '"crv":"P-256"', '"n":"', '"e":"AQAB"', '"x":"', '"y":"', '"use":"sig"', '"key_ops":["verify"]', '"keys":[',
               "-----BEGIN PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----"],
    "waves": ["RIFF", "RF64", "RIFX", "WAVE", "fmt ", "data", "LIST", "fact", "JUNK", "bext", "id3 ", "ds64", "\xff\xff\xff\xff", "\xfe\xff", "\x01\x00\x01\x00"],
}


def main():
    corpora = {"http2-server": server, "http2-client": client, "framing": framing, "messages": messages, "json": json, "tokens": tokens, "waves": waves}
    for target, seeds in corpora.items():
        folder = ROOT / target
        folder.mkdir(parents=True, exist_ok=True)
        names = set()
        for name, content in seeds():
            names.add(name)
            if isinstance(content, str):
                if not (folder / name).exists():
                    pem = subprocess.run(content.split(), capture_output=True, check=True).stdout
                    (folder / name).write_bytes(b"\4" + pem)
                continue
            (folder / name).write_bytes(content)
        words = "".join('"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\x{b:02x}" for b in word.encode("latin-1" if max(map(ord, word)) < 256 else "utf-8")) + '"\n'
                        for word in DICTIONARIES[target])
        (ROOT / f"{target}.dict").write_text(words)
        print(f"seeds: {target}: {len(names)} seeds, {len(DICTIONARIES[target])} words")


if __name__ == "__main__":
    sys.exit(main())

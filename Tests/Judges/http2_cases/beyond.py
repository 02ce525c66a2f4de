"""Cases of our own: rules that no public judge asks for, and what a strict server must not punish."""

from . import wire
from .case import FILLER, Case
from .peer import (
    Failure, acknowledges, answers, closes, connection_error, ends, exactly, lives, sends, stream_error)
from .wire import (
    COMPRESSION_ERROR, END_HEADERS, END_STREAM, GOAWAY, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, PADDED, PROTOCOL_ERROR,
    REFUSED_STREAM, RST_STREAM, STREAM_CLOSED, block, continuation, data, headers, padded, ping, priority, reset, settings,
    table_size, window_update)

TRAILERS = block(("x-test", "ok"))


def has_body(count):
    """A whole response whose body has so many bytes."""
    def step(peer):
        ends()(peer)
        found = sum(len(frame.payload) for frame in peer.heard if frame.kind == wire.DATA)
        if found != count:
            raise Failure(f"the body has {found} bytes, not {count}; {peer}")
    return step


def byte_by_byte(content):
    def step(peer):
        for byte in content:
            peer.send(bytes([byte]))
    return step


def refused_before_acknowledged(requests):
    """Until SETTINGS are acknowledged the client may not know the limit: what it sends on the refused stream is in its right."""
    def step(peer):
        allowed = peer.limits[MAX_CONCURRENT_STREAMS]
        for number in range(allowed):
            peer.send(requests.get(2 * number + 1))
        last = 2 * allowed + 1
        peer.send(requests.post(last) + data(last, flags=0) + headers(last, TRAILERS))
        exactly(RST_STREAM, REFUSED_STREAM, last)(peer)
        peer.send(data(last))
        lives(peer)
    return step


def goaway_then_end(peer):
    exactly(GOAWAY, PROTOCOL_ERROR)(peer)
    closes(peer)


def cases(requests):
    get, post = requests.get, requests.post
    malformed = headers(1, requests.block("POST", ("X-TEST", "ok")), END_HEADERS)
    return [
        Case("own/4.2", "a request that comes byte by byte", (byte_by_byte(get()), has_body(64))),
        Case("own/5.1", "the body of GET / has 64 bytes", (get(), has_body(64))),
        Case("own/5.1.1", "DATA below the highest stream, never opened",
             (get(1), get(7), data(3), connection_error(PROTOCOL_ERROR, STREAM_CLOSED))),
        Case("own/5.1.1", "HEADERS in a gap after many streams",
             (get(1), get(3), get(9), get(21), ends(21), get(15), connection_error(PROTOCOL_ERROR))),
        Case("own/5.1.1", "gaps between identifiers are allowed", (get(5), ends(5), get(101), ends(101), lives)),
        Case("own/5.1.1", "a stream again, half-closed (remote)", (get(5), get(5), stream_error(STREAM_CLOSED, stream=5))),
        Case("own/5.1.1", "a stream again, closed long ago",
             (b"".join(get(stream) for stream in range(1, 400, 2)), ends(399), get(1), connection_error(STREAM_CLOSED))),
        Case("own/5.1.1", "WINDOW_UPDATE and RST_STREAM on a closed stream are late, not wrong",
             (get(), ends(), window_update(1, 1), reset(1), lives)),
        Case("own/5.1", "DATA and trailers on a stream that the server has reset are late, not wrong",
             (malformed, exactly(RST_STREAM, PROTOCOL_ERROR, 1), data(1, flags=0), headers(1, TRAILERS), lives)),
        Case("own/5.1", "the same in one write with the request",
             (malformed + data(1, flags=0) + headers(1, TRAILERS), exactly(RST_STREAM, PROTOCOL_ERROR, 1), lives)),
        Case("own/5.1", "late DATA counts for the connection's window, and the window is opened again",
             (malformed + b"".join(data(1, bytes(16_384), 0) for _ in range(200)), lives, get(3), ends(3))),
        Case("own/5.1", "a block on a stream that the server has reset still feeds the header table",
             (malformed, exactly(RST_STREAM, PROTOCOL_ERROR, 1), headers(1, wire.literal("x-test", "ok", wire.INDEXING)),
              headers(3, requests.block() + wire.indexed(62)), answers(3))),
        Case("own/5.1.2", "a refused stream is refused alone", (refused_before_acknowledged(requests),),
             options={"values": ((INITIAL_WINDOW_SIZE, 0),), "acknowledges": False}),
        Case("own/5.4.1", "a connection error is told by GOAWAY, then the connection ends", (ping(stream=3), goaway_then_end)),
        Case("own/6.1", "DATA of nothing but padding", (post(), data(1, padded(b"", 255), END_STREAM | PADDED), answers())),
        Case("own/6.1", "an empty DATA ends a request", (post(), data(1, b""), answers())),
        Case("own/6.2", "trailers in CONTINUATION",
             (post(), data(1, flags=0), headers(1, TRAILERS, END_STREAM), continuation(1, FILLER), answers())),
        Case("own/6.2", "trailers after trailers", (post(), headers(1, TRAILERS), headers(1, TRAILERS), stream_error(STREAM_CLOSED))),
        Case("own/6.3", "PRIORITY on an idle stream leaves the lower ones open", (priority(3), get(1), answers())),
        Case("own/6.9.2", "a window below zero that is opened to zero lets nothing pass",
             (settings((INITIAL_WINDOW_SIZE, 3)), acknowledges, get(), sends(3), settings((INITIAL_WINDOW_SIZE, 0)), acknowledges,
              window_update(1, 3), lives, window_update(1, 2), sends(2))),
        Case("own/8.1.2.6", "content-length of a request without a body",
             (headers(1, requests.block("POST", ("content-length", "1"))), stream_error(PROTOCOL_ERROR))),
        Case("own/8.1.2.6", "content-length beyond the sum before trailers",
             (post(1, ("content-length", "9")), data(1, flags=0), headers(1, TRAILERS), stream_error(PROTOCOL_ERROR))),
        Case("own/hpack", "a table size update between two fields",
             (headers(1, requests.block() + table_size(0) + FILLER), connection_error(COMPRESSION_ERROR))),
        Case("own/hpack", "an integer without end",
             (headers(1, requests.block() + b"\xff" + b"\xff" * 12 + b"\x01"), connection_error(COMPRESSION_ERROR))),
        Case("own/hpack", "a string longer than its block", (headers(1, requests.block() + b"\0\x7fabc"), connection_error(COMPRESSION_ERROR))),
    ]

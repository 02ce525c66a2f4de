"""RFC 9113, sections 3 to 5: the preface, the format of frames, and the states of a stream."""

from . import wire
from .case import FILLER, OVERSIZED, Case
from .peer import Failure, answers, closes, connection_error, ends, pongs, stream_error
from .wire import (
    COMPRESSION_ERROR, END_HEADERS, END_STREAM, FRAME_SIZE_ERROR, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, PRIORITISED,
    PROTOCOL_ERROR, REFUSED_STREAM, SETTINGS, STREAM_CLOSED, UNKNOWN, continuation, data, dependency, frame, headers, ping, priority,
    reset, settings, window_update)

FRAME = 16_384


def says_settings_first(peer):
    first = peer.next()
    if first is None or first.kind != SETTINGS or first.acknowledges:
        raise Failure(f"the server's first frame is not SETTINGS; {peer}")


def connection(requests):
    block = requests.block()
    post = requests.post()
    return [
        Case("http2/3.5", "SETTINGS is the first frame of the server",
             (wire.PREFACE + settings((INITIAL_WINDOW_SIZE, 65_535)), says_settings_first), opens=False),
        Case("http2/3.5", "what is no preface closes the connection", (b"GET / HTTP/1.1\r\nhost: test\r\n\r\n", closes), opens=False),
        Case("http2/4.1", "a frame of unknown type is ignored", (frame(UNKNOWN, 0, 0, b"\0" * 8), ping(), pongs())),
        Case("http2/4.1", "undefined flags are ignored", (ping(flags=0x16), pongs())),
        Case("http2/4.1", "the reserved bit is ignored", (ping(flags=0x16, reserved=True), pongs())),
        Case("http2/4.2", "DATA of 2^14 bytes is accepted", (post, data(1, bytes(FRAME)), answers(expected=None))),
        Case("http2/4.2", "DATA larger than SETTINGS_MAX_FRAME_SIZE", (post, data(1, bytes(FRAME + 1)), stream_error(FRAME_SIZE_ERROR))),
        Case("http2/4.2", "HEADERS larger than SETTINGS_MAX_FRAME_SIZE",
             (headers(1, block + OVERSIZED), connection_error(FRAME_SIZE_ERROR))),
        Case("http2/4.3", "a block that cannot be decoded",
             (headers(1, b"\x40"), connection_error(COMPRESSION_ERROR))),
        Case("http2/4.3", "PRIORITY inside a header block",
             (headers(1, block, 0), priority(1), continuation(1, FILLER), connection_error(PROTOCOL_ERROR))),
        Case("http2/4.3", "HEADERS of another stream inside a header block",
             (headers(1, block, 0), headers(3, block), continuation(1, FILLER), connection_error(PROTOCOL_ERROR))),
    ]


def states(requests):
    get, block = requests.get(), requests.block()
    open_get = requests.open_get()
    section = "http2/5.1"
    return [
        Case(section, "idle: DATA", (data(1), connection_error(PROTOCOL_ERROR))),
        Case(section, "idle: RST_STREAM", (reset(1), connection_error(PROTOCOL_ERROR))),
        Case(section, "idle: WINDOW_UPDATE", (window_update(1, 100), connection_error(PROTOCOL_ERROR))),
        Case(section, "idle: CONTINUATION", (continuation(1, block), connection_error(PROTOCOL_ERROR))),
        Case(section, "half-closed (remote): DATA", (get, data(1), stream_error(STREAM_CLOSED))),
        Case(section, "half-closed (remote): HEADERS", (get, get, stream_error(STREAM_CLOSED))),
        Case(section, "half-closed (remote): CONTINUATION",
             (get, continuation(1, block), stream_error(STREAM_CLOSED, PROTOCOL_ERROR))),
        Case(section, "closed by RST_STREAM: DATA", (open_get, reset(1), data(1), stream_error(STREAM_CLOSED))),
        Case(section, "closed by RST_STREAM: HEADERS", (open_get, reset(1), get, stream_error(STREAM_CLOSED))),
        Case(section, "closed by RST_STREAM: CONTINUATION",
             (open_get, reset(1), continuation(1, FILLER), stream_error(STREAM_CLOSED, PROTOCOL_ERROR))),
        Case(section, "closed: DATA", (get, ends(), data(1), connection_error(STREAM_CLOSED))),
        Case(section, "closed: HEADERS", (get, ends(), get, connection_error(STREAM_CLOSED))),
        Case(section, "closed: CONTINUATION",
             (get, ends(), continuation(1, FILLER), connection_error(STREAM_CLOSED, PROTOCOL_ERROR))),
    ]


def exceed_concurrency(requests):
    """One stream more than the server allows. Nobody reads a response, so none of them ends."""
    def step(peer):
        allowed = peer.limits.get(MAX_CONCURRENT_STREAMS)
        if allowed is None:
            raise Failure("the server sets no SETTINGS_MAX_CONCURRENT_STREAMS")
        for number in range(allowed + 1):
            peer.send(requests.get(2 * number + 1))
        stream_error(PROTOCOL_ERROR, REFUSED_STREAM, stream=2 * allowed + 1)(peer)
    return step


def identifiers(requests):
    return [
        Case("http2/5.1.1", "HEADERS with an even identifier", (requests.get(2), connection_error(PROTOCOL_ERROR))),
        Case("http2/5.1.1", "HEADERS with an identifier below the highest, never opened",
             (requests.get(5), requests.get(3), connection_error(PROTOCOL_ERROR))),
        Case("http2/5.1.2", "one stream more than SETTINGS_MAX_CONCURRENT_STREAMS",
             (exceed_concurrency(requests),), options={"values": ((INITIAL_WINDOW_SIZE, 0),)}),
        Case("http2/5.3.1", "HEADERS that depends on itself",
             (headers(1, dependency(on=1) + requests.block(), END_STREAM | END_HEADERS | PRIORITISED), stream_error(PROTOCOL_ERROR))),
        Case("http2/5.3.1", "PRIORITY that depends on itself", (priority(1, dependency(on=1)), stream_error(PROTOCOL_ERROR))),
        Case("http2/5.4.1", "the connection is closed after a connection error", (ping(stream=3), closes)),
        Case("http2/5.5", "an extension frame is ignored", (frame(UNKNOWN, 0, 0, b"\0" * 8), ping(), pongs())),
        Case("http2/5.5", "an extension frame inside a header block",
             (headers(1, requests.block(), END_STREAM), frame(UNKNOWN, 0, 0, b"\0" * 8), connection_error(PROTOCOL_ERROR))),
    ]


def cases(requests):
    return connection(requests) + states(requests) + identifiers(requests)

"""RFC 9113, sections 6 and 7: each frame with the wrong stream, length, padding, order or value, and unknown error codes."""

from .case import FILLER, Case
from .peer import acknowledges, answers, closes, connection_error, exactly, pongs, sends, stream_error
from .wire import (
    ACK, END_HEADERS, END_STREAM, ENABLE_PUSH, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, GOAWAY, INITIAL_WINDOW_SIZE, LARGEST_WINDOW,
    MAX_FRAME_SIZE, PADDED, PING, PRIORITY, PROTOCOL_ERROR, RST_STREAM, SETTINGS, STREAM_CLOSED, WINDOW_UPDATE, continuation, data,
    frame, goaway, headers, ping, priority, reset, settings, window_update)


def streams(requests):
    get, block, post = requests.get(), requests.block(), requests.post()
    return [
        Case("http2/6.1", "DATA on stream 0", (data(0), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.1", "DATA on a stream that is neither open nor half-closed (local)",
             (requests.post(flags=END_STREAM | END_HEADERS), data(1), stream_error(STREAM_CLOSED))),
        Case("http2/6.1", "DATA with more padding than payload",
             (requests.post(1, ("content-length", "4")), data(1, b"\x06test", END_STREAM | PADDED), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.2", "HEADERS without END_HEADERS, then PRIORITY",
             (headers(1, block, 0), priority(1), continuation(1, FILLER), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.2", "HEADERS without END_HEADERS, then HEADERS of another stream",
             (headers(1, block, 0), headers(3, block), continuation(1, FILLER), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.2", "HEADERS on stream 0", (headers(0, block), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.2", "HEADERS with more padding than payload",
             (headers(1, bytes([len(block) + 2]) + block, END_STREAM | END_HEADERS | PADDED), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.3", "PRIORITY on stream 0", (priority(0), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.3", "PRIORITY of 4 bytes", (get, frame(PRIORITY, 0, 1, b"\x80\0\0\1"), stream_error(FRAME_SIZE_ERROR))),
        Case("http2/6.4", "RST_STREAM on stream 0", (reset(0), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.4", "RST_STREAM on an idle stream", (reset(1), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.4", "RST_STREAM of 3 bytes", (get, frame(RST_STREAM, 0, 1, bytes(3)), stream_error(FRAME_SIZE_ERROR))),
        Case("http2/6.10", "several CONTINUATION after HEADERS",
             (headers(1, block, END_STREAM), continuation(1, FILLER, 0), continuation(1, FILLER), answers())),
        Case("http2/6.10", "CONTINUATION without END_HEADERS, then DATA",
             (requests.post(flags=0), continuation(1, FILLER, 0), data(1), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.10", "CONTINUATION on stream 0",
             (headers(1, block, END_STREAM), continuation(0, FILLER), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.10", "CONTINUATION after HEADERS with END_HEADERS",
             (get, continuation(1, FILLER), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.10", "CONTINUATION after CONTINUATION with END_HEADERS",
             (headers(1, block, END_STREAM), continuation(1, FILLER), continuation(1, FILLER), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.10", "CONTINUATION after DATA",
             (requests.post(flags=0), data(1), continuation(1, FILLER, 0), continuation(0, FILLER), connection_error(PROTOCOL_ERROR))),
    ]


def settings_and_life(requests):
    def setting(title, name, value, code):
        return Case("http2/6.5.2", title, (settings((name, value)), connection_error(code)))

    return [
        Case("http2/6.5", "an acknowledgement with a payload",
             (settings((ENABLE_PUSH, 0), flags=ACK), connection_error(FRAME_SIZE_ERROR))),
        Case("http2/6.5", "SETTINGS on a stream", (settings((ENABLE_PUSH, 0), stream=1), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.5", "SETTINGS of 3 bytes", (frame(SETTINGS, 0, 0, b"\0\2\0"), connection_error(FRAME_SIZE_ERROR))),
        setting("ENABLE_PUSH of 2", ENABLE_PUSH, 2, PROTOCOL_ERROR),
        setting("INITIAL_WINDOW_SIZE of 2^31", INITIAL_WINDOW_SIZE, 1 << 31, FLOW_CONTROL_ERROR),
        setting("MAX_FRAME_SIZE of 2^14 - 1", MAX_FRAME_SIZE, (1 << 14) - 1, PROTOCOL_ERROR),
        setting("MAX_FRAME_SIZE of 2^24", MAX_FRAME_SIZE, 1 << 24, PROTOCOL_ERROR),
        Case("http2/6.5.2", "an unknown setting is ignored", (settings((0xFF, 1)), ping(), pongs())),
        Case("http2/6.5.3", "values take effect in their order",
             (settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)), acknowledges, requests.get(), sends(1))),
        Case("http2/6.5.3", "SETTINGS are acknowledged", (settings((ENABLE_PUSH, 0)), acknowledges)),
        Case("http2/6.7", "PING is answered", (ping(b"\1\2\3\4\5\6\7\x08"), pongs(b"\1\2\3\4\5\6\7\x08"))),
        Case("http2/6.7", "an answer to no PING is ignored", (ping(b"unasked!", flags=ACK), ping(b"question"), pongs(b"question"))),
        Case("http2/6.7", "PING on a stream", (ping(stream=1), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.7", "PING of 6 bytes", (frame(PING, 0, 0, bytes(6)), connection_error(FRAME_SIZE_ERROR))),
        Case("http2/6.8", "GOAWAY on a stream", (goaway(stream=1), connection_error(PROTOCOL_ERROR))),
        Case("http2/7", "GOAWAY with an unknown code", (goaway(0xFF), closes)),
        Case("http2/7", "RST_STREAM with an unknown code", (requests.post(), reset(1, 0xFF), ping(), pongs())),
    ]


def windows(requests):
    get, open_get = requests.get(), requests.open_get()
    return [
        Case("http2/6.9", "WINDOW_UPDATE of 0 for the connection", (window_update(0, 0), connection_error(PROTOCOL_ERROR))),
        Case("http2/6.9", "WINDOW_UPDATE of 0 for a stream", (open_get, window_update(1, 0), stream_error(PROTOCOL_ERROR))),
        Case("http2/6.9", "WINDOW_UPDATE of 3 bytes", (frame(WINDOW_UPDATE, 0, 0, b"\0\0\1"), connection_error(FRAME_SIZE_ERROR))),
        Case("http2/6.9.1", "DATA does not exceed the window",
             (settings((INITIAL_WINDOW_SIZE, 1)), acknowledges, get, sends(1))),
        Case("http2/6.9.1", "a connection's window above 2^31 - 1",
             (window_update(0, LARGEST_WINDOW), window_update(0, LARGEST_WINDOW), exactly(GOAWAY, FLOW_CONTROL_ERROR))),
        Case("http2/6.9.1", "a stream's window above 2^31 - 1",
             (open_get, window_update(1, LARGEST_WINDOW), window_update(1, LARGEST_WINDOW),
              exactly(RST_STREAM, FLOW_CONTROL_ERROR, 1))),
        Case("http2/6.9.2", "a new initial window changes that of open streams",
             (settings((INITIAL_WINDOW_SIZE, 0)), acknowledges, get, settings((INITIAL_WINDOW_SIZE, 1)), acknowledges, sends(1))),
        Case("http2/6.9.2", "a window below zero is kept account of",
             (settings((INITIAL_WINDOW_SIZE, 3)), acknowledges, get, sends(3), settings((INITIAL_WINDOW_SIZE, 2)), acknowledges,
              window_update(1, 2), sends(1))),
        Case("http2/6.9.2", "an initial window of 2^31",
             (settings((INITIAL_WINDOW_SIZE, 1 << 31)), connection_error(FLOW_CONTROL_ERROR))),
    ]


def cases(requests):
    return streams(requests) + settings_and_life(requests) + windows(requests)

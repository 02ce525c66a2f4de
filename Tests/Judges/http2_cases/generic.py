"""What every server must be able to do: connect, keep its streams apart, take each kind of frame, and answer requests."""

from . import wire
from .case import FILLER, Case
from .peer import acknowledges, answers, closes, ends, lives, pongs, sends
from .wire import (
    END_HEADERS, END_STREAM, INDEXING, INITIAL_WINDOW_SIZE, NEVER_INDEXED, PADDED, PRIORITISED, WITHOUT_INDEXING, continuation,
    data, dependency, goaway, headers, huffman, indexed, literal, padded, ping, priority, reset, settings, table_size, window_update)

USER_AGENT = 58


def connection(requests):
    get = requests.get()
    small = {"values": ((INITIAL_WINDOW_SIZE, 0),)}
    return [
        Case("generic/1", "a preface and SETTINGS are answered with SETTINGS and an acknowledgement", (lives,)),
        Case("generic/2", "PRIORITY on an idle stream is accepted", (priority(1), ping(), pongs())),
        Case("generic/2", "WINDOW_UPDATE on a half-closed (remote) stream is accepted",
             (get, window_update(1, 1), sends(1)), options=small),
        Case("generic/2", "PRIORITY on a half-closed (remote) stream is accepted",
             (get, priority(1), window_update(1, 1), sends(1)), options=small),
        Case("generic/2", "RST_STREAM on a half-closed (remote) stream is accepted", (get, reset(1), ping(), pongs())),
        Case("generic/2", "PRIORITY on a closed stream is accepted", (get, ends(), priority(1), ping(), pongs())),
    ]


def frames(requests):
    get, block = requests.get(), requests.block()
    return [
        Case("generic/3.1", "DATA", (requests.post(), data(1), answers())),
        Case("generic/3.1", "several DATA", (requests.post(), data(1, flags=0), data(1), answers())),
        Case("generic/3.1", "DATA with padding",
             (requests.post(), data(1, padded(b"test", 10), END_STREAM | PADDED), answers())),
        Case("generic/3.2", "HEADERS", (get, answers())),
        Case("generic/3.2", "HEADERS with padding",
             (headers(1, padded(block, 8), END_STREAM | END_HEADERS | PADDED), answers())),
        Case("generic/3.2", "HEADERS with a priority",
             (headers(1, dependency() + block, END_STREAM | END_HEADERS | PRIORITISED), answers())),
        Case("generic/3.3", "PRIORITY of weight 1", (priority(1, dependency(weight=0)), get, answers())),
        Case("generic/3.3", "PRIORITY of weight 256", (priority(1, dependency(weight=255)), get, answers())),
        Case("generic/3.3", "PRIORITY that depends on another stream", (priority(3, dependency(on=1)), get, answers())),
        Case("generic/3.3", "PRIORITY that is exclusive", (priority(1, dependency(exclusive=True)), get, answers())),
        Case("generic/3.3", "PRIORITY on an idle stream does not close the ones below", (priority(3), get, answers())),
        Case("generic/3.4", "RST_STREAM", (requests.open_get(), reset(1), ping(), pongs())),
        Case("generic/3.5", "SETTINGS", (settings((INITIAL_WINDOW_SIZE, 65_535)), acknowledges)),
        Case("generic/3.7", "PING", (ping(b"whatever"), pongs(b"whatever"))),
        Case("generic/3.8", "GOAWAY ends a connection without streams", (goaway(debug=b"good bye"), closes)),
        Case("generic/3.9", "WINDOW_UPDATE of the connection", (window_update(0, 1), ping(), pongs())),
        Case("generic/3.9", "WINDOW_UPDATE of a stream", (get, window_update(1, 1), answers())),
        Case("generic/3.10", "a block in HEADERS and CONTINUATION",
             (headers(1, block, END_STREAM), continuation(1, FILLER), answers())),
        Case("generic/3.10", "a block in HEADERS and several CONTINUATION",
             (headers(1, block, END_STREAM), continuation(1, FILLER, 0), continuation(1, FILLER), answers())),
    ]


def exchanges(requests):
    trailers = wire.block(("x-test", "ok"))
    return [
        Case("generic/4", "GET", (requests.get(), answers())),
        Case("generic/4", "HEAD", (headers(1, requests.block("HEAD")), answers())),
        Case("generic/4", "POST", (requests.post(), data(1), answers())),
        Case("generic/4", "POST with trailers",
             (requests.post(1, ("trailer", "x-test")), data(1, flags=0), headers(1, trailers), answers())),
    ]


def compression(requests):
    def request(title, *fields, before=b""):
        block = before + requests.block() + b"".join(fields)
        return Case("generic/5", title, (headers(1, block), answers()))

    kinds = [(INDEXING, "with incremental indexing"), (WITHOUT_INDEXING, "without indexing"), (NEVER_INDEXED, "never indexed")]
    cases = [request("an indexed field", indexed(USER_AGENT))]
    for kind, how in kinds:
        cases += [
            request(f"a literal {how}, its name indexed", literal(USER_AGENT, "test", kind)),
            request(f"a literal {how}, its name indexed, in Huffman codes", literal(USER_AGENT, "test", kind, huffman)),
            request(f"a literal {how}, its name new", literal("x-test", "test", kind)),
            request(f"a literal {how}, its name new, in Huffman codes", literal("x-test", "test", kind, huffman)),
        ]
    return [
        *cases,
        request("a table size update", before=table_size(0)),
        request("several table size updates", before=table_size(0) + table_size(4_096)),
    ]


def cases(requests):
    return connection(requests) + frames(requests) + exchanges(requests) + compression(requests)

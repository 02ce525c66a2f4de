"""RFC 9113, section 8, and RFC 7541: malformed requests, and header blocks that cannot be decoded."""

from .case import Case
from .peer import connection_error, stream_error
from .wire import (
    COMPRESSION_ERROR, END_HEADERS, END_OF_STRING, HUFFMAN, INDEXING, PROTOCOL_ERROR, block, data, headers, huffman, indexed, literal,
    packed, push_promise, table_size)

#: The static table has 61 entries, and the dynamic table of a new connection none.
BEYOND_TABLES = 70


def requests_of(requests):
    malformed = stream_error(PROTOCOL_ERROR)
    post = requests.post()

    def refused(section, title, *extra, content=None):
        return Case(f"http2/{section}", title, (headers(1, content or requests.block("GET", *extra)), malformed))

    replaced = [(name, "" if name == ":path" else value) for name, value in requests.fields()]
    return [
        Case("http2/8.1", "a second HEADERS without END_STREAM",
             (post, data(1, flags=0), headers(1, block(("x-test", "ok")), END_HEADERS), malformed)),
        refused("8.1.2", "a name in upper case", ("X-TEST", "ok")),
        refused("8.1.2.1", "an unknown pseudo-header field", (":test", "ok")),
        refused("8.1.2.1", "a pseudo-header field of responses", (":status", "200")),
        Case("http2/8.1.2.1", "a pseudo-header field in trailers",
             (post, data(1, flags=0), headers(1, block((":method", "POST"))), malformed)),
        refused("8.1.2.1", "a pseudo-header field after a regular one",
                content=block(("x-test", "ok"), *requests.fields())),
        refused("8.1.2.2", "a connection-specific field", ("connection", "keep-alive")),
        refused("8.1.2.2", "TE other than trailers", ("trailers", "test"), ("te", "trailers, deflate")),
        refused("8.1.2.3", "an empty :path", content=block(*replaced)),
        refused("8.1.2.3", "no :method", content=requests.without(":method")),
        refused("8.1.2.3", "no :scheme", content=requests.without(":scheme")),
        refused("8.1.2.3", "no :path", content=requests.without(":path")),
        refused("8.1.2.3", "two :method", (":method", "GET")),
        refused("8.1.2.3", "two :scheme", (":scheme", requests.scheme)),
        refused("8.1.2.3", "two :path", (":path", "/")),
        Case("http2/8.1.2.6", "content-length that is not that of the DATA",
             (requests.post(1, ("content-length", "1")), data(1), malformed)),
        Case("http2/8.1.2.6", "content-length that is not the sum of several DATA",
             (requests.post(1, ("content-length", "1")), data(1, flags=0), data(1), malformed)),
        Case("http2/8.2", "PUSH_PROMISE from a client",
             (requests.get(), push_promise(1, 3, requests.block()), connection_error(PROTOCOL_ERROR))),
    ]


def compression(requests):
    failed = connection_error(COMPRESSION_ERROR)

    def refused(section, title, field):
        return Case(f"hpack/{section}", title, (headers(1, requests.block() + field), failed))

    def coded(text, *more):
        return [HUFFMAN[character] for character in text] + list(more)

    def field(value):
        return b"\0" + huffman("x-test") + value

    # Eight ones more than the padding needs: a whole byte that stands for nothing.
    long_padding = bytearray(packed(coded("test"), "1") + b"\xff")
    long_padding[0] += 1
    return [
        refused("2.3.3", "an index outside the tables", indexed(BEYOND_TABLES)),
        refused("2.3.3", "a literal whose name's index is outside the tables", literal(BEYOND_TABLES, "test", INDEXING)),
        refused("4.2", "a table size update at the end of a block", table_size(1)),
        refused("5.2", "padding of more than 7 bits", field(bytes(long_padding))),
        refused("5.2", "padding of zeros", field(packed(coded("test"), "0"))),
        refused("5.2", "the end-of-string symbol", field(packed(coded("te", END_OF_STRING, *coded("st")), "1"))),
        refused("6.1", "index 0", indexed(0)),
        Case("hpack/6.3", "a table size above SETTINGS_HEADER_TABLE_SIZE",
             (headers(1, table_size(4_097) + requests.block()), failed)),
    ]


def cases(requests):
    return requests_of(requests) + compression(requests)

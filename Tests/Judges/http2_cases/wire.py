"""Frames as bytes, with every mistake that a library would not let one make: RFC 9113 and RFC 7541."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
KINDS = ("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE", "CONTINUATION")
UNKNOWN = 0x2A

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITISED = 0x20

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED = range(6)
FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(6, 12)
CODES = (
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED")

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
LARGEST_WINDOW = (1 << 31) - 1


def name_of(names, number):
    return names[number] if number < len(names) else f"0x{number:x}"


# MARK: Frames


def frame(kind, flags, stream, payload=b"", *, reserved=False):
    """One frame; the length in its header is that of the payload, whatever the type demands."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream | (1 << 31 if reserved else 0)) + payload


def padded(payload, count):
    return bytes([count]) + payload + bytes(count)


def dependency(on=0, weight=255, exclusive=False):
    return struct.pack(">IB", on | (1 << 31 if exclusive else 0), weight)


def data(stream, payload=b"test", flags=END_STREAM):
    return frame(DATA, flags, stream, payload)


def headers(stream, block, flags=END_STREAM | END_HEADERS):
    return frame(HEADERS, flags, stream, block)


def continuation(stream, block, flags=END_HEADERS):
    return frame(CONTINUATION, flags, stream, block)


def priority(stream, payload=None):
    return frame(PRIORITY, 0, stream, dependency() if payload is None else payload)


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def settings(*values, flags=0, stream=0):
    return frame(SETTINGS, flags, stream, b"".join(struct.pack(">HI", name, value) for name, value in values))


def ping(payload=b"\0" * 8, flags=0, stream=0, reserved=False):
    return frame(PING, flags, stream, payload, reserved=reserved)


def goaway(code=NO_ERROR, stream=0, debug=b""):
    return frame(GOAWAY, 0, stream, struct.pack(">II", 0, code) + debug)


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def push_promise(stream, promised, block):
    return frame(PUSH_PROMISE, END_HEADERS, stream, struct.pack(">I", promised) + block)


# MARK: Header blocks

WITHOUT_INDEXING, NEVER_INDEXED, INDEXING = 0x00, 0x10, 0x40
#: Where a static-table index begins in the first byte of each literal representation, in bits.
INDEX_BITS = {WITHOUT_INDEXING: 4, NEVER_INDEXED: 4, INDEXING: 6}
#: The Huffman codes of the characters that the cases use: code and length in bits (RFC 7541, appendix B).
HUFFMAN = {
    "0": (0x00, 5), "1": (0x01, 5), "2": (0x02, 5), "a": (0x03, 5), "c": (0x04, 5), "e": (0x05, 5), "i": (0x06, 5),
    "o": (0x07, 5), "s": (0x08, 5), "t": (0x09, 5), "-": (0x16, 6), "l": (0x28, 6), "n": (0x2A, 6), "p": (0x2B, 6),
    "r": (0x2C, 6), "u": (0x2D, 6), "x": (0x79, 7), "y": (0x7A, 7)}
END_OF_STRING = (0x3FFFFFFF, 30)


def integer(value, bits, first=0):
    """An integer whose prefix has so many bits, behind the bits of `first` (RFC 7541, section 5.1)."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    rest, encoded = value - limit, [first | limit]
    while rest >= 128:
        encoded.append(rest % 128 + 128)
        rest //= 128
    return bytes([*encoded, rest])


def plain(text):
    return integer(len(text), 7) + text.encode()


def packed(codes, padding):
    """Huffman codes as a string literal, filled up with `padding` to a whole number of bytes."""
    bits = "".join(f"{code:0{length}b}" for code, length in codes)
    bits += padding * (-len(bits) % 8)
    content = int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else b""
    return integer(len(content), 7, 0x80) + content


def huffman(text):
    return packed([HUFFMAN[character] for character in text], "1")


def literal(name, value, kind=WITHOUT_INDEXING, encode=plain):
    """A field whose name is text, or a number of the static table."""
    if isinstance(name, int):
        return integer(name, INDEX_BITS[kind], kind) + encode(value)
    return bytes([kind]) + encode(name) + encode(value)


def indexed(index):
    return integer(index, 7, 0x80)


def table_size(value):
    return integer(value, 5, 0x20)


def block(*fields):
    return b"".join(literal(name, value) for name, value in fields)


def status(fragment):
    """The status at the head of a response's block, when it stands there in one of the usual ways."""
    while fragment and fragment[0] & 0xE0 == 0x20:
        fragment = fragment[1:] if fragment[0] & 0x1F != 0x1F else fragment[2:]
    common = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
    return common.get(fragment[0] & 0x7F) if fragment and fragment[0] & 0x80 else None

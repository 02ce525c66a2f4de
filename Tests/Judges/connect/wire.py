"""The three protocols as bytes: content types, envelopes, codecs, errors. Written from their specifications, for both sides."""

import base64
import gzip
import json
import struct
import urllib.parse
import zlib

from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from . import protos
from .protos import CONNECT, GRPC, GRPC_WEB, GZIP, JSON, PROTO

COMPRESSED, CONNECT_END, WEB_TRAILERS = 0x01, 0x02, 0x80

CODES = [
    "ok", "canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists", "permission_denied",
    "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented", "internal", "unavailable",
    "data_loss", "unauthenticated"]
HTTP_OF_CODE = dict(zip(CODES, [200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401]))
# What a status of HTTP means when nothing else says how the call ended.
CODE_OF_HTTP = {400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14}


class WireError(Exception):
    """A peer's message that breaks its protocol."""


# What reading a peer's bytes may raise.
UNREADABLE = (WireError, ValueError, gzip.BadGzipFile, EOFError, zlib.error, DecodeError, protos.json_format.ParseError)


def content_type(protocol, codec, is_unary):
    name = protos.CODEC_NAMES[codec]
    if protocol == CONNECT:
        return f"application/{name}" if is_unary else f"application/connect+{name}"
    return f"application/{protos.PROTOCOL_NAMES[protocol]}+{name}"


def same_type(left, right):
    """Whether two content types say the same: a gRPC type without a codec means proto."""
    def normal(value):
        value = value.partition(";")[0].strip().lower()
        return value + "+proto" if value in ("application/grpc", "application/grpc-web") else value
    return normal(left) == normal(right)


def encode(message, codec):
    if codec == PROTO:
        return message.SerializeToString()
    return protos.json_format.MessageToJson(message, indent=None).encode()


def decode(kind, body, codec):
    if codec == PROTO:
        return kind.FromString(body)
    return protos.json_format.Parse(body.decode(), kind())


def envelope(body, flags=0, length=None):
    return struct.pack(">BI", flags, len(body) if length is None else length) + body


def enveloped(message, codec, compression):
    body = encode(message, codec)
    return envelope(gzip.compress(body, mtime=0), COMPRESSED) if compression == GZIP else envelope(body)


class Envelopes:
    """Cuts a stream of bytes into envelopes."""

    def __init__(self):
        self.rest = b""

    def feed(self, data):
        self.rest += data
        found = []
        while len(self.rest) >= 5:
            flags, length = struct.unpack(">BI", self.rest[:5])
            if len(self.rest) < 5 + length:
                break
            found.append((flags, self.rest[5:5 + length]))
            self.rest = self.rest[5 + length:]
        return found


def restore(flags, body, encoding):
    """The bytes of an envelope before compression."""
    if not flags & COMPRESSED:
        return body
    if encoding != "gzip":
        raise WireError(f"a compressed message under the encoding '{encoding}'")
    return gzip.decompress(body)


# MARK: Values of headers

def b64(data):
    return base64.b64encode(data).decode().rstrip("=")


def unb64(text):
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def percent_encode(text):
    return "".join(chr(byte) if 0x20 <= byte <= 0x7e and byte != 0x25 else f"%{byte:02X}" for byte in text.encode())


def percent_decode(text):
    return urllib.parse.unquote_to_bytes(text).decode()


def pairs(headers):
    """The judge's headers as fields."""
    return [(header.name.lower(), value) for header in headers for value in header.value]


def headers(fields):
    """Fields as the judge's headers."""
    grouped = {}
    for name, value in fields:
        grouped.setdefault(name, []).append(value)
    return [protos.service.Header(name=name, value=values) for name, values in grouped.items()]


def first(fields, name, default=None):
    return next((value for field, value in fields if field == name), default)


RESERVED = {"content-type", "content-encoding", "content-length", "accept-encoding", "te", "date", "server", "vary", "trailer"}


def custom(fields):
    """The fields that belong to the call's user."""
    return [
        (name, value) for name, value in fields
        if not name.startswith((":", "grpc-", "connect-")) and name not in RESERVED]


# MARK: Errors

def grpc_error(fields, problems):
    """The error of trailers; None for success."""
    status = first(fields, "grpc-status")
    if status is None or not status.isascii() or not status.isdigit() or (len(status) > 1 and status[0] == "0"):
        raise WireError(f"grpc-status is {status!r}")
    message = percent_decode(first(fields, "grpc-message", ""))
    code = int(status)
    if code == 0:
        return None
    error = protos.service.Error(code=code, message=message)
    details = first(fields, "grpc-status-details-bin")
    if details is not None:
        decoded = status_pb2.Status.FromString(unb64(details))
        if decoded.code != code or decoded.message != message:
            problems.append("grpc-status-details-bin disagrees with grpc-status and grpc-message")
        error.details.extend(decoded.details)
    return error


def grpc_trailers(error, fields):
    """The trailers that end a call."""
    trailers = [("grpc-status", str(error.code if error else 0))]
    if error is not None:
        if error.message:
            trailers.append(("grpc-message", percent_encode(error.message)))
        if error.details:
            status = status_pb2.Status(code=error.code, message=error.message, details=error.details)
            trailers.append(("grpc-status-details-bin", b64(status.SerializeToString())))
    return trailers + fields


def web_trailers(fields):
    return envelope("".join(f"{name}: {value}\r\n" for name, value in fields).encode(), WEB_TRAILERS)


def read_web_trailers(body, problems):
    text = body.decode()
    if not text.endswith("\r\n") or text.endswith("\r\n\r\n"):
        problems.append("the block of trailers does not end in one line end")
    fields = []
    for line in text.split("\r\n"):
        if line:
            name, colon, value = line.partition(":")
            if not colon or name != name.lower():
                problems.append(f"a trailer line is {line!r}")
            fields.append((name.lower(), value.strip()))
    return fields


def connect_error(error):
    """The JSON of an error."""
    written = {"code": CODES[error.code]}
    if error.message:
        written["message"] = error.message
    if error.details:
        written["details"] = [
            {"type": detail.type_url.rpartition("/")[2], "value": b64(detail.value)} for detail in error.details]
    return written


def read_connect_error(value, problems):
    if not isinstance(value, dict) or value.get("code") not in CODES[1:]:
        raise WireError(f"no Connect error: {value!r}")
    unknown = set(value) - {"code", "message", "details"}
    if unknown:
        problems.append(f"the error has members {unknown}")
    error = protos.service.Error(code=CODES.index(value["code"]))
    if "message" in value:
        error.message = value["message"]
    for detail in value.get("details", []):
        if "=" in detail["value"]:
            problems.append("a detail is padded base64")
        error.details.add(type_url="type.googleapis.com/" + detail["type"], value=unb64(detail["value"]))
    return error


def connect_end(error, fields):
    """The last envelope of a stream."""
    end = {}
    if error is not None:
        end["error"] = connect_error(error)
    if fields:
        end["metadata"] = {header.name: list(header.value) for header in headers(fields)}
    return envelope(json.dumps(end).encode(), CONNECT_END)


def get_query(message, codec, compression):
    """The query of a call by GET."""
    body = encode(message, codec)
    query = [("connect", "v1")]
    if compression == GZIP:
        body = gzip.compress(body, mtime=0)
        query += [("compression", "gzip")]
    if compression == GZIP or codec != JSON:
        body = base64.urlsafe_b64encode(body).rstrip(b"=")
        query += [("base64", "1")]
    return query + [("encoding", protos.CODEC_NAMES[codec]), ("message", body.decode())]


def is_grpc(protocol):
    return protocol in (GRPC, GRPC_WEB)

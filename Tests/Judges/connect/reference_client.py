"""A client of the three protocols that notices whatever a server does against them."""

import asyncio
import gzip
import json
import urllib.parse

from . import protos, wire
from .protos import CONNECT, FULL, GRPC, GRPC_WEB, GZIP, UNARY

CANCELED, UNKNOWN, DEADLINE, UNIMPLEMENTED = 1, 2, 4, 12


class Ended(Exception):
    """The call is over; the error, if there is one, is in the result."""


class Call:
    """One call over an open connection."""

    def __init__(self, connection, request, tls=False):
        self.request = request
        self.protocol, self.codec, self.compression = request.protocol, request.codec, request.compression
        self.is_bare = self.protocol == CONNECT and request.stream_type == UNARY
        self.reply = protos.RESPONSES.get(request.method, protos.service.UnaryResponse)
        self.result = protos.client_compat.ClientResponseResult()
        self.problems = self.result.feedback
        self.connection, self.scheme = connection, "https" if tls else "http"
        self.envelopes, self.waiting = wire.Envelopes(), []
        self.opened = self.over = False

    # MARK: The request

    def _fields(self, verb, path):
        fields = [(":method", verb), (":scheme", self.scheme), (":authority", "localhost"), (":path", path)]
        timeout = str(self.request.timeout_ms) if self.request.HasField("timeout_ms") else None
        if wire.is_grpc(self.protocol):
            fields += [("te", "trailers")] if self.protocol == GRPC else [("x-grpc-web", "1")]
            prefix, encoding = "grpc-", "grpc-encoding"
            fields += [("grpc-timeout", timeout + "m")] if timeout else []
        else:
            fields += [("connect-protocol-version", "1")]
            prefix = "" if self.is_bare else "connect-"
            encoding = prefix + "content-encoding"
            fields += [("connect-timeout-ms", timeout)] if timeout else []
            if not self.is_bare:
                prefix = "connect-"
        fields.append((prefix + "accept-encoding", "gzip"))
        if verb == "POST":
            fields.append(("content-type", wire.content_type(self.protocol, self.codec, self.is_bare)))
            if self.compression == GZIP:
                fields.append((encoding, "gzip"))
        return fields + wire.pairs(self.request.request_headers)

    async def run(self):
        """Makes the call; the result."""
        timeout = self.request.timeout_ms / 1000 if self.request.HasField("timeout_ms") else 25
        try:
            await asyncio.wait_for(self._talk(), timeout)
        except Ended:
            pass
        except asyncio.TimeoutError:
            self.stream.reset()
            self._fail(DEADLINE if self.request.HasField("timeout_ms") else UNKNOWN, "out of time")
        except wire.UNREADABLE as problem:
            self.problems.append(str(problem) or repr(problem))
            self.stream.reset()
        except ConnectionError as problem:
            self.problems.append(f"the connection: {problem}")
        return self.result

    def _fail(self, code, message):
        self.result.error.CopyFrom(protos.service.Error(code=code, message=message))

    async def _talk(self):
        path = f"/{self.request.service}/{self.request.method}"
        kind = protos.REQUESTS.get(self.request.method, protos.service.UnaryRequest)
        messages = [kind.FromString(message.value) for message in self.request.request_messages]
        cancel = self.request.cancel.WhichOneof("cancel_timing")
        if self.request.use_get_http_method:
            query = urllib.parse.urlencode(wire.get_query(messages[0], self.codec, self.compression))
            self.stream = self.connection.open(self._fields("GET", f"{path}?{query}"), end=True)
            return await self._receive_all(None)
        self.stream = self.connection.open(self._fields("POST", path))
        self.result.num_unsent_requests = len(messages)
        for message in messages:
            if self.request.request_delay_ms:
                await asyncio.sleep(self.request.request_delay_ms / 1000)
            if self.stream.ended and self.stream.reset_code is None and not self.stream.data:
                break
            if not await self._sent(self._body(message)):
                break
            self.result.num_unsent_requests -= 1
            if self.request.stream_type == FULL and (await self._receive() is None or self._cancelled(cancel)):
                return
        if cancel == "before_close_send":
            return self._cancel()
        await self._sent(end=True)
        if cancel == "after_close_send_ms":
            await asyncio.sleep(self.request.cancel.after_close_send_ms / 1000)
            return self._cancel()
        await self._receive_all(cancel)

    async def _sent(self, data=b"", end=False):
        """Sends; whether the server still wanted it. One that has answered may stop the rest (RFC 9113, 8.1)."""
        try:
            await self.stream.send(data, end)
            return True
        except ConnectionError:
            if self.stream.headers is None:
                raise
            return False

    def _body(self, message):
        if not self.is_bare:
            return wire.enveloped(message, self.codec, self.compression)
        body = wire.encode(message, self.codec)
        return gzip.compress(body, mtime=0) if self.compression == GZIP else body

    def _cancel(self):
        self.stream.reset()
        self._fail(CANCELED, "cancelled here")

    def _cancelled(self, cancel):
        if cancel == "after_num_responses" and len(self.result.payloads) == self.request.cancel.after_num_responses:
            self._cancel()
            return True
        return False

    # MARK: The response

    async def _receive_all(self, cancel):
        while await self._receive() is not None:
            if self._cancelled(cancel):
                return

    async def _receive(self):
        """The next answer, also kept in the result; None after the last."""
        if not self.opened:
            await self._open()
        while not self.waiting and not self.over:
            data = await self.stream.read()
            if data:
                for flags, body in self.envelopes.feed(data):
                    self._take(flags, body)
            else:
                self._end()
        if not self.waiting:
            return None
        self.result.payloads.append(self.waiting.pop(0).payload)
        return self.result.payloads[-1]

    async def _open(self):
        self.opened = True
        fields = await self.stream.head()
        if fields is None:
            raise wire.WireError(f"the stream ended without headers (reset {self.stream.reset_code})")
        self.fields = fields
        self.status = int(wire.first(fields, ":status"))
        self.result.http_status_code = self.status
        if self.is_bare:
            return await self._read_bare()
        if self.status != 200:
            # Paths that nothing serves may be answered by plain HTTP.
            self._fail(wire.CODE_OF_HTTP.get(self.status, UNKNOWN), f"HTTP {self.status}")
            raise Ended
        wanted = wire.content_type(self.protocol, self.codec, False)
        given = wire.first(fields, "content-type", "")
        if not wire.same_type(given, wanted):
            self.problems.append(f"the content type is {given!r}, not {wanted!r}")
        self.encoding = wire.first(fields, "connect-content-encoding" if self.protocol == CONNECT else "grpc-encoding")
        if self.encoding not in (None, "identity", "gzip"):
            self.problems.append(f"the encoding {self.encoding!r} was not offered")
        custom = wire.custom(fields)
        if self.stream.ended and not self.stream.data and wire.first(fields, "grpc-status") is not None:
            # Trailers-Only: one block for both.
            self.result.response_trailers.extend(wire.headers(custom))
            self._finish(wire.grpc_error(fields, self.problems))
        else:
            if wire.is_grpc(self.protocol) and wire.first(fields, "grpc-status") is not None:
                self.problems.append("grpc-status stands in headers that do not end the stream")
            self.result.response_headers.extend(wire.headers(custom))

    def _take(self, flags, body):
        if self.over:
            raise wire.WireError("an envelope after the last")
        if self.protocol == CONNECT and flags & wire.CONNECT_END:
            end = json.loads(wire.restore(flags & 1, body, self.encoding))
            if not isinstance(end, dict) or set(end) - {"error", "metadata"}:
                raise wire.WireError(f"the last envelope is {end!r}")
            metadata = [(name.lower(), value) for name, values in end.get("metadata", {}).items() for value in values]
            self.result.response_trailers.extend(wire.headers(metadata))
            return self._finish(wire.read_connect_error(end["error"], self.problems) if "error" in end else None)
        if self.protocol == GRPC_WEB and flags & wire.WEB_TRAILERS:
            fields = wire.read_web_trailers(wire.restore(flags & 1, body, self.encoding), self.problems)
            self.result.response_trailers.extend(wire.headers(wire.custom(fields)))
            return self._finish(wire.grpc_error(fields, self.problems))
        if flags & ~wire.COMPRESSED:
            raise wire.WireError(f"an envelope has the flags {flags:#x}")
        self.waiting.append(wire.decode(self.reply, wire.restore(flags, body, self.encoding), self.codec))

    def _finish(self, error):
        self.over = True
        if error is not None:
            self.result.error.CopyFrom(error)

    def _end(self):
        """The body has ended."""
        if self.envelopes.rest:
            raise wire.WireError("the body ends within an envelope")
        if self.stream.reset_code not in (None, 0):
            raise wire.WireError(f"the stream was reset with {self.stream.reset_code}")
        if self.over:
            return
        if self.protocol != GRPC:
            raise wire.WireError("the body ends without a last envelope")
        self.result.response_trailers.extend(wire.headers(wire.custom(self.stream.trailers)))
        self._finish(wire.grpc_error(self.stream.trailers, self.problems))

    async def _read_bare(self):
        body = await self.stream.rest()
        if self.stream.reset_code not in (None, 0):
            raise wire.WireError(f"the stream was reset with {self.stream.reset_code}")
        if self.stream.trailers:
            self.problems.append("HTTP trailers")
        encoding = wire.first(self.fields, "content-encoding", "identity")
        if encoding == "gzip" and body:
            body = gzip.decompress(body)
        elif encoding not in ("identity", "gzip"):
            self.problems.append(f"the encoding {encoding!r} was not offered")
        custom = wire.custom(self.fields)
        trailers = [(name[8:], value) for name, value in custom if name.startswith("trailer-")]
        self.result.response_headers.extend(wire.headers([pair for pair in custom if not pair[0].startswith("trailer-")]))
        self.result.response_trailers.extend(wire.headers(trailers))
        given = wire.first(self.fields, "content-type", "")
        if self.status == 200:
            wanted = wire.content_type(CONNECT, self.codec, True)
            if not wire.same_type(given, wanted):
                self.problems.append(f"the content type is {given!r}, not {wanted!r}")
            self.waiting.append(wire.decode(self.reply, body, self.codec))
            return self._finish(None)
        if self.status in (404, 405, 415) and not wire.same_type(given, "application/json"):
            self._fail(wire.CODE_OF_HTTP.get(self.status, UNKNOWN), f"HTTP {self.status}")
            raise Ended
        if not wire.same_type(given, "application/json"):
            self.problems.append(f"an error's content type is {given!r}")
        error = wire.read_connect_error(json.loads(body), self.problems)
        # A path that nothing serves is 404 in plain HTTP too.
        expected = wire.HTTP_OF_CODE[wire.CODES[error.code]]
        if self.status != expected and (self.status, error.code) != (404, UNIMPLEMENTED):
            self.problems.append(f"the status of HTTP is {self.status} for the code {wire.CODES[error.code]}")
        self._finish(error)

"""The programs as such: how they start, refuse and end, and whom they trust."""

import asyncio
import contextlib
import ssl

from . import cases, http2, programs, protos
from .protos import UNARY

UNAVAILABLE, UNIMPLEMENTED = 14, 12


async def ended(binary, request):
    """Exit status and standard error of a server that is asked for what it does not serve."""
    process = await asyncio.create_subprocess_exec(
        str(binary), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    output, errors = await asyncio.wait_for(process.communicate(programs.framed(request)), 20)
    return process.returncode, output, errors.decode()


def _allowed(head, what, lists):
    """What a response lacks that lets pages of any origin call, and names all of these in its lists."""
    fields = dict(head or [])
    found = [] if fields.get("access-control-allow-origin") == "*" else [f"{what} names no origin"]
    for name, wanted in lists.items():
        missing = wanted - {part.strip().lower() for part in fields.get(name, "").split(",")}
        if missing:
            found.append(f"{what} lacks {sorted(missing)} in {name}")
    return found


def server_checks(stage):
    """(name, check) pairs for the server."""
    binary = stage.binaries / "connect-conformance-server"
    Request = protos.server_compat.ServerCompatRequest

    def refused(request):
        async def run():
            status, output, errors = await ended(binary, request)
            found = [] if status == 1 else [f"it ended with {status}, not 1"]
            found += [f"it answered with {len(output)} bytes"] if output else []
            return found + ([] if errors.strip() else ["it did not say why"])
        return run

    async def sigterm():
        server = await programs.Server.start(binary)
        connection = await http2.connect(server.port)
        status = await server.stop()
        await connection.close()
        return [] if status == 0 else [f"it ended with {status} on SIGTERM"]

    async def echo():
        server = await programs.Server.start(binary, **stage.secure())
        await server.stop()
        response, found = server.response, []
        if response.host != "127.0.0.1" or not 0 < response.port < 65_536:
            found.append(f"it listens on {response.host}:{response.port}")
        if response.pem_cert != stage.certificates.server[0].read_bytes():
            found.append("the certificate does not come back")
        return found

    def unwelcome(identity):
        async def run():
            server = await programs.Server.start(binary, **stage.secure(True))
            try:
                connection = await http2.connect(server.port, http2.client_tls(stage.certificates.server[0], identity))
                # Under TLS 1.3 the refusal comes after the client's own handshake.
                stream = connection.open([(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/")])
                head = await asyncio.wait_for(stream.head(), 10)
                await connection.close()
                return [f"an answer with {head}"] if head else []
            except (ssl.SSLError, ConnectionError, OSError):
                return []
            finally:
                await server.stop()
        return run

    async def browser():
        """A page of another origin asks whether it may call, and calls."""
        server = await programs.Server.start(binary)
        try:
            connection = await http2.connect(server.port)
            path = f"/{protos.SERVICE}/Unary"
            page = [(":scheme", "http"), (":authority", "localhost"), (":path", path), ("origin", "https://app.example")]
            asked = "connect-protocol-version,content-type,x-custom-header"
            stream = connection.open([(":method", "OPTIONS"), *page, ("access-control-request-method", "POST"),
                                      ("access-control-request-headers", asked)], end=True)
            found = _allowed(await asyncio.wait_for(stream.head(), 10), "the preflight", {
                "access-control-allow-methods": {"post"}, "access-control-allow-headers": set(asked.split(","))})
            call = cases.messages(UNARY, cases.definition(UNARY, [b"data"]))[0]
            stream = connection.open([(":method", "POST"), *page, ("content-type", "application/proto"),
                                      ("connect-protocol-version", "1")])
            await stream.send(call.SerializeToString(), end=True)
            exposed = {header.name for header in cases.HEADERS} | {f"trailer-{header.name}" for header in cases.TRAILERS}
            found += _allowed(await asyncio.wait_for(stream.head(), 10), "the answer", {"access-control-expose-headers": exposed})
            await connection.close()
            return found
        finally:
            await server.stop()

    yield "pages of another origin may call", browser
    yield "ends on SIGTERM", sigterm
    yield "tells where it listens", echo
    yield "HTTP/1.1 is refused", refused(Request(http_version=1))
    yield "HTTP/3 is refused", refused(Request(http_version=3))
    yield "TLS without a certificate is refused", refused(Request(http_version=2, use_tls=True))
    yield "a certificate that is none is refused", refused(
        Request(http_version=2, use_tls=True, server_creds=protos.config.TLSCreds(cert=b"none", key=b"none")))
    yield "mTLS refuses callers without a certificate", unwelcome(None)
    yield "mTLS refuses callers with another's certificate", unwelcome(stage.certificates.stranger)


def client_checks(stage):
    """(name, check) pairs for the client."""
    binary = stage.binaries / "connect-conformance-client"

    def call(**more):
        request = cases.request(UNARY, cases.messages(UNARY, None), protocol=2, codec=1, host="127.0.0.1", **more)
        request.test_name = f"{next(stage.numbers)}"
        return request

    async def end():
        status = await (await programs.Client.start(binary)).stop()
        return [] if status == 0 else [f"it ended with {status} at the end of its input"]

    def impossible(request):
        async def run():
            client = await programs.Client.start(binary)
            try:
                await client.call(request)
            except AssertionError:
                return []
            finally:
                await client.stop()
            return ["it made the call"]
        return run

    def failing(start, **more):
        """A call to a server that cannot be trusted or reached."""
        async def run():
            async with contextlib.AsyncExitStack() as stack:
                port = await start(stack)
                client = await programs.Client.start(binary)
                stack.push_async_callback(client.stop)
                result = await client.call(call(port=port, timeout_ms=4_000, **more))
                if result.error.code != UNAVAILABLE:
                    return [f"code {result.error.code} ({result.error.message}), not {UNAVAILABLE}"]
                return [] if result.num_unsent_requests == 1 else ["the request counts as sent"]
        return run

    async def stranger(stack):
        async def never(stream):
            raise ConnectionError("a stream of a client that should not be here")
        listener = await http2.Listener(never).start(http2.server_tls(stage.certificates.stranger))
        stack.push_async_callback(listener.stop)
        return listener.port

    async def nobody(_):
        listener = await http2.Listener(None).start()
        await listener.stop()
        return listener.port

    yield "ends with its input", end
    yield "HTTP/1.1 is refused", impossible(call(http_version=1, port=1))
    yield "a raw request is refused", impossible(call(port=1, raw_request=protos.service.RawHTTPRequest(verb="GET")))
    yield "an unknown compression is refused", impossible(call(port=1, compression=protos.config.COMPRESSION_ZSTD))
    yield "an unknown authority is not trusted", failing(
        stranger, server_tls_cert=stage.certificates.server[0].read_bytes())
    yield "nobody listens", failing(nobody)

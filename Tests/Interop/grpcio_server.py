"""A server of grpc.testing.TestService on gRPC for Python, for our client: `grpcio_server.py FOLDER-OF-STUBS [CERT KEY]`.

It prints 'listening on 127.0.0.1:PORT'. Whether a request came compressed is hidden from handlers by the library, so what
`expect_compressed` says is not checked here; gRPC C++ does that.
"""

import asyncio
import signal
import sys

import grpc

sys.path.insert(0, sys.argv[1])
from judges import empty_pb2, messages_pb2, test_pb2_grpc  # noqa: E402  (the stubs are generated for each run)

INITIAL, TRAILING = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"
CODES = {code.value[0]: code for code in grpc.StatusCode}


class TestService(test_pb2_grpc.TestServiceServicer):
    """Does what each request asks for."""

    async def EmptyCall(self, request, context):
        return empty_pb2.Empty()

    async def UnaryCall(self, request, context):
        await self._echo(context)
        await self._end(request, context)
        if request.HasField("response_compressed"):
            context.set_compression(
                grpc.Compression.Gzip if request.response_compressed.value else grpc.Compression.NoCompression)
            # A response that is alone keeps what the headers say only if they went before it.
            await context.send_initial_metadata(())
        answer = messages_pb2.SimpleResponse(payload=self._zeros(request.response_size))
        if request.fill_server_id:
            answer.server_id = "grpcio"
        return answer

    CacheableUnaryCall = UnaryCall

    async def StreamingOutputCall(self, request, context):
        await self._echo(context)
        # The compression of a stream is chosen before its first message; single messages may go without.
        if any(wanted.compressed.value for wanted in request.response_parameters):
            context.set_compression(grpc.Compression.Gzip)
        async for answer in self._answers(request, context):
            yield answer

    async def StreamingInputCall(self, requests, context):
        total = 0
        async for request in requests:
            total += len(request.payload.body)
        return messages_pb2.StreamingInputCallResponse(aggregated_payload_size=total)

    async def FullDuplexCall(self, requests, context):
        await self._echo(context)
        async for request in requests:
            async for answer in self._answers(request, context):
                yield answer

    async def HalfDuplexCall(self, requests, context):
        received = [request async for request in requests]
        for request in received:
            async for answer in self._answers(request, context):
                yield answer

    async def _answers(self, request, context):
        for wanted in request.response_parameters:
            if wanted.interval_us:
                await asyncio.sleep(wanted.interval_us / 1e6)
            if wanted.HasField("compressed") and not wanted.compressed.value:
                context.disable_next_message_compression()
            yield messages_pb2.StreamingOutputCallResponse(payload=self._zeros(wanted.size))
        await self._end(request, context)

    @staticmethod
    async def _end(request, context):
        if request.response_status.code:
            await context.abort(CODES[request.response_status.code], request.response_status.message)

    @staticmethod
    async def _echo(context):
        metadata = context.invocation_metadata()
        initial = [(name, value) for name, value in metadata if name == INITIAL]
        if initial:
            await context.send_initial_metadata(initial)
        context.set_trailing_metadata([(name, value) for name, value in metadata if name == TRAILING])

    @staticmethod
    def _zeros(size):
        return messages_pb2.Payload(body=bytes(size))


async def serve(certificate=None, key=None):
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 32 << 20), ("grpc.so_reuseport", 0)])
    test_pb2_grpc.add_TestServiceServicer_to_server(TestService(), server)
    if certificate:
        with open(certificate, "rb") as chain, open(key, "rb") as private:
            credentials = grpc.ssl_server_credentials([(private.read(), chain.read())])
        port = server.add_secure_port("127.0.0.1:0", credentials)
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: asyncio.ensure_future(server.stop(1)))
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[2:]))

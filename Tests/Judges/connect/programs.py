"""The adapters as processes, spoken to over their pipes."""

import asyncio
import contextlib
import struct

from . import protos


async def _read(stream, kind):
    length = struct.unpack(">I", await stream.readexactly(4))[0]
    return kind.FromString(await stream.readexactly(length))


def framed(message):
    """The message after its length, as it goes over a pipe."""
    body = message.SerializeToString()
    return struct.pack(">I", len(body)) + body


class Server:
    """connect-conformance-server, asked once how to serve."""

    @classmethod
    async def start(cls, binary, **request):
        server = cls()
        server.process = await asyncio.create_subprocess_exec(
            str(binary), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        server.process.stdin.write(framed(protos.server_compat.ServerCompatRequest(http_version=2, **request)))
        server.response = await asyncio.wait_for(
            _read(server.process.stdout, protos.server_compat.ServerCompatResponse), 20)
        server.port = server.response.port
        return server

    async def stop(self):
        """Asks it to end; its exit status."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            return await asyncio.wait_for(self.process.wait(), 10)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
            return "no end within 10 s of SIGTERM"


class Client:
    """connect-conformance-client, which makes any number of calls at once."""

    @classmethod
    async def start(cls, binary, *flags):
        client = cls()
        client.waiting = {}
        client.process = await asyncio.create_subprocess_exec(
            str(binary), *flags, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        client.reader = asyncio.create_task(client._answers())
        return client

    async def _answers(self):
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                answer = await _read(self.process.stdout, protos.client_compat.ClientCompatResponse)
                future = self.waiting.pop(answer.test_name, None)
                if future and not future.done():
                    future.set_result(answer)
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(ConnectionError("the client has ended"))

    async def call(self, request):
        """What became of one call; its name is unique."""
        future = self.waiting[request.test_name] = asyncio.get_running_loop().create_future()
        self.process.stdin.write(framed(request))
        await self.process.stdin.drain()
        answer = await asyncio.wait_for(future, 30)
        if answer.WhichOneof("result") != "response":
            raise AssertionError(f"the client made no call: {answer.error.message}")
        return answer.response

    async def stop(self):
        """Says that no call follows; its exit status."""
        self.process.stdin.close()
        try:
            status = await asyncio.wait_for(self.process.wait(), 15)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
            status = "no end within 15 s of its input's end"
        await self.reader
        return status

"""gRPC for Python with asyncio against our server: many calls at once on one connection."""

import asyncio
import unittest

import grpc
from interop import Case

STREAMS = 1_000


class Aio(Case):
    """All tests share one loop, as the library wants it: it keeps the first that it meets."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.loop = asyncio.new_event_loop()

    @classmethod
    def tearDownClass(cls):
        cls.loop.close()
        super().tearDownClass()

    def asynchronously(self, body, **how):
        async def call():
            channel = self.server.channel(grpc.aio, **how)
            try:
                return await asyncio.wait_for(body(self.server.stub(channel)), 100)
            finally:
                await channel.close()

        return self.loop.run_until_complete(call())

    def test_1000_duplex_streams_open_at_once_on_one_connection(self):
        async def body(stub):
            calls = [stub.FullDuplexCall() for _ in range(STREAMS)]

            async def turn(call, size):
                await call.write(self.outputs(size))
                return len((await call.read()).payload.body)

            # Nobody goes on before everybody has been answered: all streams are open at the same time.
            self.assertEqual(await asyncio.gather(*(turn(call, 10) for call in calls)), [10] * STREAMS)
            self.assertEqual(self.server.connections(), 1)
            sizes = await asyncio.gather(*(turn(call, number) for number, call in enumerate(calls)))
            self.assertEqual(sizes, list(range(STREAMS)))

            async def end(call):
                await call.done_writing()
                self.assertIs(await call.read(), grpc.aio.EOF)
                return await call.code()

            self.assertEqual(set(await asyncio.gather(*(end(call) for call in calls))), {grpc.StatusCode.OK})

        self.asynchronously(body)

    def test_one_stream_above_the_limit_waits_for_another_to_end(self):
        async def body(stub):
            calls = [stub.FullDuplexCall() for _ in range(1_100)]

            async def turn(call):
                await call.write(self.outputs(1))
                await call.read()
                await call.done_writing()
                return await call.code()

            self.assertEqual(set(await asyncio.gather(*map(turn, calls))), {grpc.StatusCode.OK})

        self.asynchronously(body)

    def test_the_four_kinds(self):
        async def body(stub):
            self.assertEqual(len((await stub.UnaryCall(self.simple(314_159, bytes(271_828)))).payload.body), 314_159)
            sizes = [31_415, 9, 2_653, 58_979]
            self.assertEqual([len(a.payload.body) async for a in stub.StreamingOutputCall(self.outputs(*sizes))], sizes)
            total = await stub.StreamingInputCall(self.input(size) for size in sizes)
            self.assertEqual(total.aggregated_payload_size, sum(sizes))
            answers = stub.FullDuplexCall(self.outputs(size) for size in sizes)
            self.assertEqual([len(a.payload.body) async for a in answers], sizes)

        self.asynchronously(body)

    def test_metadata_statuses_and_deadlines(self):
        async def body(stub):
            call = stub.UnaryCall(self.simple(1), metadata=[
                ("x-grpc-test-echo-initial", "a"), ("x-grpc-test-echo-trailing-bin", b"\0\1\2\xff")])
            await call
            self.assertEqual(dict(await call.initial_metadata())["x-grpc-test-echo-initial"], "a")
            self.assertEqual(dict(await call.trailing_metadata())["x-grpc-test-echo-trailing-bin"], b"\0\1\2\xff")
            for code in grpc.StatusCode:
                if code is grpc.StatusCode.OK:
                    continue
                call = stub.UnaryCall(self.simple(response_status=self.status(code.value[0], "\t日本 😈 %")))
                self.assertEqual((await call.code(), await call.details()), (code, "\t日本 😈 %"))
            call = stub.FullDuplexCall(timeout=0.2)
            self.assertEqual(await call.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

        self.asynchronously(body)

    def test_300_cancels_on_one_connection(self):
        async def body(stub):
            for number in range(300):
                call = stub.FullDuplexCall()
                if number % 3:
                    await call.write(self.outputs(5))
                if number % 3 == 2:
                    await call.read()
                self.assertTrue(call.cancel())
                self.assertEqual(await call.code(), grpc.StatusCode.CANCELLED)
            self.assertEqual(len((await stub.UnaryCall(self.simple(5))).payload.body), 5)
            self.assertEqual(self.server.connections(), 1)

        self.asynchronously(body)

    def test_1000_unary_calls_at_once(self):
        async def body(stub):
            answers = await asyncio.gather(*(stub.UnaryCall(self.simple(size, bytes(100))) for size in range(1_000)))
            self.assertEqual([len(answer.payload.body) for answer in answers], list(range(1_000)))

        self.asynchronously(body)


if __name__ == "__main__":
    unittest.main()

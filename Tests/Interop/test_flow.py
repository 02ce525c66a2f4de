"""Back-pressure: who does not read slows who writes, and the server's memory stays flat. And ends that come early."""

import asyncio
import queue
import threading
import time
import unittest

import grpc
from interop import MIB, Case


class SlowReader(Case):
    """The client does not read what it asked for."""

    def test_the_server_waits_and_its_memory_stays_flat(self):
        stub = self.stub()
        self.assertEqual(len(stub.UnaryCall(self.simple(MIB)).payload.body), MIB)
        before = self.server.resident_bytes()
        count = 512
        answers = stub.StreamingOutputCall(self.outputs(*[MIB] * count), timeout=120)
        self.assertEqual(len(next(answers).payload.body), MIB)
        highest = before
        end = time.monotonic() + 2
        while time.monotonic() < end:
            highest = max(highest, self.server.resident_bytes())
            time.sleep(0.05)
        self.assertLess(highest - before, 24 * MIB, "of 512 MiB that nobody reads")
        self.assertEqual(sum(len(answer.payload.body) for answer in answers), (count - 1) * MIB)
        self.assertLess(self.server.resident_bytes() - before, 48 * MIB)

    def test_100_slow_readers_cost_little_each(self):
        stub = self.stub(options=[("grpc.http2.bdp_probe", 0)])
        before = self.server.resident_bytes()
        calls = [stub.StreamingOutputCall(self.outputs(*[64 << 10] * 200), timeout=120) for _ in range(100)]
        for call in calls:
            next(call)
        time.sleep(1)  # what would grow without bounds has the time to
        self.assertLess(self.server.resident_bytes() - before, 64 * MIB, "of 1250 MiB that nobody reads")
        for call in calls:
            call.cancel()
        self.assertEqual(len(stub.UnaryCall(self.simple(5)).payload.body), 5)

    def test_a_slow_reader_does_not_slow_its_neighbours(self):
        stub = self.stub()
        slow = stub.StreamingOutputCall(self.outputs(*[MIB] * 200), timeout=120)
        next(slow)
        for _ in range(100):
            self.assertEqual(len(stub.UnaryCall(self.simple(100), timeout=5).payload.body), 100)
        slow.cancel()


class SlowServer(Case):
    """The handler does not read what the client sends."""

    def test_the_client_is_blocked(self):
        async def body():
            channel = self.server.channel(grpc.aio)
            call = self.server.stub(channel).FullDuplexCall(timeout=60)
            # The handler waits three seconds before it answers the first request; meanwhile it reads nothing.
            await call.write(self.outputs(1, interval=3_000_000))
            before = self.server.resident_bytes()
            written, began, count = 0, time.monotonic(), 64
            highest = 0

            async def write():
                nonlocal written
                for _ in range(count):
                    await call.write(self.outputs(payload=self.m.Payload(body=bytes(MIB))))
                    written += 1
                await call.done_writing()

            writer = asyncio.create_task(write())
            while time.monotonic() - began < 2:
                await asyncio.sleep(0.05)
                highest = max(highest, self.server.resident_bytes() - before)
            self.assertLess(written, 12, "MiB accepted while nobody reads")
            self.assertLess(highest, 24 * MIB)
            self.assertEqual(len((await call.read()).payload.body), 1)
            await writer
            self.assertEqual(written, count)
            self.assertIs(await call.read(), grpc.aio.EOF)
            self.assertEqual(await call.code(), grpc.StatusCode.OK)
            await channel.close()

        asyncio.run(asyncio.wait_for(body(), 100))


class EarlyEnds(Case):
    """Calls that end before one side is through."""

    def test_a_status_before_the_client_has_sent_all(self):
        stub = self.stub()
        refusing = self.outputs(3, response_status=self.status(7, "enough"))
        for _ in range(20):
            stop = threading.Event()

            def requests(stop=stop):
                yield refusing
                while not stop.is_set():
                    yield self.outputs(payload=self.m.Payload(body=bytes(64 << 10)))

            call = stub.FullDuplexCall(requests(), timeout=20)
            self.assertEqual(len(next(call).payload.body), 3)
            error = self.refused(grpc.StatusCode.PERMISSION_DENIED, lambda call=call, **_: next(call))
            self.assertEqual(error.details(), "enough")
            stop.set()
        self.assertEqual(len(stub.UnaryCall(self.simple(5)).payload.body), 5)
        self.assertEqual(self.server.connections(), 1)

    def test_a_refusal_in_the_middle_of_a_client_stream(self):
        stub = self.stub()
        wrong = self.input(10, expect_compressed=self.m.BoolValue(value=True))
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, stub.StreamingInputCall, iter([self.input(10), wrong] + [self.input(MIB)] * 40))

    def test_answers_go_on_after_the_half_close(self):
        requests = queue.SimpleQueue()
        call = self.stub().FullDuplexCall(iter(requests.get, None), timeout=20)
        requests.put(self.outputs(1, 2, 3, 4, interval=100_000))
        requests.put(None)
        self.assertEqual([len(answer.payload.body) for answer in call], [1, 2, 3, 4])

    def test_too_many_and_too_few_requests_are_unimplemented(self):
        channel = self.server.channel()
        self.addCleanup(channel.close)
        m = self.m
        for path, kind in (("UnaryCall", m.SimpleRequest), ("StreamingOutputCall", m.StreamingOutputCallRequest)):
            call = channel.stream_stream(
                f"/grpc.testing.TestService/{path}", request_serializer=kind.SerializeToString, response_deserializer=bytes)
            for requests in ([], [kind(), kind()]):
                with self.subTest(path=path, requests=len(requests)):
                    self.refused(
                        grpc.StatusCode.UNIMPLEMENTED, lambda call=call, requests=requests, **how: list(call(iter(requests), **how)))


if __name__ == "__main__":
    unittest.main()

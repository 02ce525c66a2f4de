"""gRPC for Python against our server: sizes, compression, deadlines, cancels, health, reflection."""

import threading
import time
import unittest

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from interop import MIB, Case, Server

UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Sizes(Case):
    """Messages as large as a server may allow."""

    options = ("--max-message", str(16 * MIB + 64))

    def test_16_mib_both_ways(self):
        answer = self.stub(options=UNLIMITED).UnaryCall(self.simple(16 * MIB, bytes(16 * MIB)), timeout=60)
        self.assertEqual(answer.payload.body, bytes(16 * MIB))

    def test_16_mib_in_streams(self):
        stub = self.stub(options=UNLIMITED)
        request = self.outputs(16 * MIB, 16 * MIB, payload=self.m.Payload(body=bytes(16 * MIB)))
        answers = list(stub.FullDuplexCall(iter([request, request]), timeout=60))
        self.assertEqual([len(answer.payload.body) for answer in answers], [16 * MIB] * 4)
        total = stub.StreamingInputCall(iter([self.input(16 * MIB)] * 3), timeout=60)
        self.assertEqual(total.aggregated_payload_size, 48 * MIB)

    def test_64_mib_are_refused(self):
        stub = self.stub(options=UNLIMITED)
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
        self.refused(code, stub.UnaryCall, self.simple(1, bytes(64 * MIB)), timeout=60)
        self.refused(code, stub.StreamingInputCall, iter([self.input(64 * MIB)]), timeout=60)
        self.refused(code, lambda **how: list(stub.FullDuplexCall(iter([self.outputs(1, payload=self.m.Payload(
            body=bytes(64 * MIB)))]), **how)), timeout=60)
        self.assertEqual(stub.UnaryCall(self.simple(2)).payload.body, b"\0\0")
        self.assertLess(self.server.resident_bytes(), 512 * MIB)

    def test_64_mib_are_refused_by_a_client_with_its_own_limit(self):
        error = self.refused(
            grpc.StatusCode.RESOURCE_EXHAUSTED, self.stub().UnaryCall, self.simple(64 * MIB), timeout=60)
        self.assertIn("larger than max", error.details())


class Compression(Case):
    """gzip, by the client's choice and by the server's."""

    def truth(self, value):
        return self.m.BoolValue(value=value)

    def test_compressed_requests(self):
        stub = self.stub(compression=grpc.Compression.Gzip)
        request = self.simple(314_159, bytes(271_828), expect_compressed=self.truth(True))
        self.assertEqual(len(stub.UnaryCall(request).payload.body), 314_159)
        total = stub.StreamingInputCall(iter([self.input(27_182, expect_compressed=self.truth(True))] * 3))
        self.assertEqual(total.aggregated_payload_size, 3 * 27_182)

    def test_deflated_requests(self):
        stub = self.stub(compression=grpc.Compression.Deflate)
        request = self.simple(9, bytes(271_828), expect_compressed=self.truth(True))
        self.assertEqual(len(stub.UnaryCall(request).payload.body), 9)

    def test_a_request_that_is_not_as_it_says(self):
        plain, packed = self.stub(), self.stub(compression=grpc.Compression.Gzip)
        wrong = [(plain, True), (packed, False)]
        for stub, claim in wrong:
            with self.subTest(claim=claim):
                request = self.simple(1, bytes(10_000), expect_compressed=self.truth(claim))
                self.refused(grpc.StatusCode.INVALID_ARGUMENT, stub.UnaryCall, request)
                self.refused(grpc.StatusCode.INVALID_ARGUMENT, stub.StreamingInputCall,
                             iter([self.input(10_000, expect_compressed=self.truth(claim))]))

    def test_compressed_responses(self):
        stub = self.stub()
        for wanted in (True, False):
            request = self.simple(314_159, bytes(10), response_compressed=self.truth(wanted))
            self.assertEqual(stub.UnaryCall(request).payload.body, bytes(314_159))
        wanted = [self.m.ResponseParameters(size=size, compressed=self.truth(packed))
                  for size, packed in [(31_415, True), (92_653, False), (7, True)]]
        answers = stub.StreamingOutputCall(self.m.StreamingOutputCallRequest(response_parameters=wanted))
        self.assertEqual([len(answer.payload.body) for answer in answers], [31_415, 92_653, 7])

    def test_a_message_that_grows_beyond_the_limit_is_refused(self):
        # 64 MiB of zeros are about 64 KiB when compressed.
        stub = self.stub(compression=grpc.Compression.Gzip, options=UNLIMITED)
        self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, stub.UnaryCall, self.simple(1, bytes(64 * MIB)), timeout=60)
        self.assertLess(self.server.resident_bytes(), 256 * MIB)


class Cancels(Case):
    """Calls that are given up."""

    def test_300_cancels_on_one_connection(self):
        stub = self.stub()
        self.assertEqual(stub.EmptyCall(self.empty()), self.empty())
        for number in range(300):
            call = stub.FullDuplexCall(iter([self.outputs(1, 1, interval=20_000_000 * (number % 2))]))
            if number % 2 == 0:
                self.assertEqual(len(next(call).payload.body), 1)
            call.cancel()
            self.assertEqual(call.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(stub.UnaryCall(self.simple(3)).payload.body, bytes(3))
        self.assertEqual(self.server.connections(), 1)

    def test_cancel_before_anything_is_sent(self):
        never = threading.Event()
        self.addCleanup(never.set)

        def silent():
            never.wait(20)
            return
            yield

        call = self.stub().StreamingInputCall.future(silent())
        call.cancel()
        self.assertEqual(call.code(), grpc.StatusCode.CANCELLED)

    def test_deadlines_end_calls_of_all_kinds_in_time(self):
        stub = self.stub()
        slow = self.outputs(1, 1, interval=30_000_000)
        for call in (lambda **how: list(stub.StreamingOutputCall(slow, **how)),
                     lambda **how: list(stub.FullDuplexCall(iter([slow]), **how)),
                     lambda **how: list(stub.HalfDuplexCall(iter([slow]), **how))):
            began = time.monotonic()
            self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, call, timeout=0.3)
            self.assertLess(time.monotonic() - began, 5)


class CancelledHandlers(Case):
    """A call that is given up does not go on in the server."""

    def test_no_handler_outlives_its_call(self):
        channel = self.server.channel()
        stub = self.server.stub(channel)
        calls = [stub.FullDuplexCall(iter([self.outputs(1, 1, interval=1), self.outputs(1, interval=60_000_000)]))
                 for _ in range(100)]
        for call in calls:
            next(call)
        for call in calls:
            call.cancel()
        channel.close()
        began = time.monotonic()
        self.assertEqual(self.server.end(), 0)
        self.assertLess(time.monotonic() - began, 5)


class Health(Case):
    """grpcio-health-checking as the client."""

    SERVING = health_pb2.HealthCheckResponse.SERVING

    def health(self):
        channel = self.server.channel()
        self.addCleanup(channel.close)
        return health_pb2_grpc.HealthStub(channel)

    def test_check(self):
        health = self.health()
        for service in ("", "grpc.testing.TestService"):
            self.assertEqual(health.Check(health_pb2.HealthCheckRequest(service=service)).status, self.SERVING)
        unknown = health_pb2.HealthCheckRequest(service="no.such.Service")
        self.refused(grpc.StatusCode.NOT_FOUND, health.Check, unknown)

    def test_list(self):
        found = self.health().List(health_pb2.HealthListRequest()).statuses
        self.assertEqual({name: found[name].status for name in found}, {"": self.SERVING, "grpc.testing.TestService": self.SERVING})

    def test_watch_stays_open(self):
        health = self.health()
        for service, status in (("", self.SERVING), ("no.such.Service", health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)):
            watch = health.Watch(health_pb2.HealthCheckRequest(service=service), timeout=1)
            self.assertEqual(next(watch).status, status)
            self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, lambda watch=watch, **_: next(watch))

    def test_watch_tells_of_the_end(self):
        server = Server()
        channel = server.channel()
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=""))
        self.assertEqual(next(watch).status, self.SERVING)
        server.program.terminate()
        self.assertEqual(next(watch).status, health_pb2.HealthCheckResponse.NOT_SERVING)
        self.assertEqual(list(watch), [])
        channel.close()
        self.assertEqual(server.program.wait(15), 0)


class Reflection(Case):
    """grpcio-reflection as the client: it builds its messages from what the server tells."""

    def test_the_services_are_listed(self):
        channel = self.server.channel()
        self.addCleanup(channel.close)
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
        self.assertEqual(sorted(services), [
            "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
            "grpc.testing.TestService"])

    def test_a_call_with_messages_that_were_learned(self):
        channel = self.server.channel()
        self.addCleanup(channel.close)
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        service = pool.FindServiceByName("grpc.testing.TestService")
        self.assertEqual(len(service.methods), 8)
        method = service.FindMethodByName("UnaryCall")
        request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        call = channel.unary_unary(
            f"/{service.full_name}/{method.name}", request_serializer=request.SerializeToString,
            response_deserializer=response.FromString)
        self.assertEqual(call(request(response_size=7)).payload.body, bytes(7))
        self.assertEqual(pool.FindFileByName("grpc/testing/messages.proto").package, "grpc.testing")
        with self.assertRaises(KeyError):
            pool.FindMessageTypeByName("no.such.Message")


if __name__ == "__main__":
    unittest.main()

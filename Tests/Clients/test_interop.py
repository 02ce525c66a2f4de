"""Outside clients call the services of the public interoperability tests: the quick part; `make interop` runs the rest."""

import queue
import unittest

import grpc

from interop import MIB, Case, Server

# Percent signs, blanks at both ends, control characters, and text of two, three and four bytes per character.
MESSAGE = "\t 50 % off\r\n Ünïcödé ☃ 日本語 😈 \x7f\t\n"
ERRORS = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]


class Kinds(Case):
    """Calls of the four kinds, as the public cases make them."""

    def test_empty_unary(self):
        self.assertEqual(self.stub().EmptyCall(self.empty()), self.empty())

    def test_unary_messages_of_all_sizes(self):
        stub = self.stub()
        for sent, received in [(0, 0), (1, 1), (271_828, 314_159), (16_379, 16_384), (65_535, 65_536), (0, 1 << 20)]:
            with self.subTest(sent=sent, received=received):
                answer = stub.UnaryCall(self.simple(received, bytes(sent)))
                self.assertEqual(answer.payload.body, bytes(received))

    def test_server_streaming(self):
        sizes = [31_415, 9, 2_653, 58_979]
        answers = self.stub().StreamingOutputCall(self.outputs(*sizes))
        self.assertEqual([len(answer.payload.body) for answer in answers], sizes)

    def test_a_request_for_2000_responses(self):
        answers = self.stub().StreamingOutputCall(self.outputs(*[1_030] * 2_000))
        self.assertEqual(sum(len(answer.payload.body) for answer in answers), 2_000 * 1_030)

    def test_client_streaming(self):
        answer = self.stub().StreamingInputCall(self.input(size) for size in [27_182, 8, 1_828, 45_904])
        self.assertEqual(answer.aggregated_payload_size, 74_922)

    def test_ping_pong(self):
        requests = queue.SimpleQueue()
        answers = self.stub().FullDuplexCall(iter(requests.get, None), timeout=20)
        for sent, received in [(27_182, 31_415), (8, 9), (1_828, 2_653), (45_904, 58_979)]:
            requests.put(self.outputs(received, payload=self.m.Payload(body=bytes(sent))))
            self.assertEqual(len(next(answers).payload.body), received)
        requests.put(None)
        self.assertEqual(list(answers), [])

    def test_an_empty_stream_has_no_answers(self):
        self.assertEqual(list(self.stub().FullDuplexCall(iter([]))), [])

    def test_half_duplex_answers_after_the_last_request(self):
        sent = []

        def requests():
            for size in (31_415, 9, 2_653):
                sent.append(size)
                yield self.outputs(size)

        answers = []
        for answer in self.stub().HalfDuplexCall(requests()):
            answers.append(len(answer.payload.body))
            self.assertEqual(len(sent), 3)
        self.assertEqual(answers, sent)

    def test_the_server_id_stays(self):
        stub = self.stub()
        ids = {stub.UnaryCall(self.simple(fill_server_id=True)).server_id for _ in range(3)}
        self.assertEqual(len(ids), 1)
        self.assertTrue(ids.pop())


class Endings(Case):
    """How calls end."""

    def test_all_error_codes_with_unicode_messages(self):
        stub = self.stub()
        self.assertEqual(len(ERRORS), 16)
        for code in ERRORS:
            with self.subTest(code=code):
                wanted = self.status(code.value[0], MESSAGE)
                error = self.refused(code, stub.UnaryCall, self.simple(response_status=wanted))
                self.assertEqual(error.details(), MESSAGE)
                error = self.refused(code, lambda **how: list(stub.FullDuplexCall(
                    iter([self.outputs(7, response_status=wanted)]), **how)))
                self.assertEqual(error.details(), MESSAGE)

    def test_unimplemented_method_and_service(self):
        self.refused(grpc.StatusCode.UNIMPLEMENTED, self.stub().UnimplementedCall, self.empty())
        channel = self.server.channel()
        self.addCleanup(channel.close)
        stub = self.ground.services.UnimplementedServiceStub(channel)
        self.refused(grpc.StatusCode.UNIMPLEMENTED, stub.UnimplementedCall, self.empty())

    def test_a_deadline_ends_a_sleeping_stream(self):
        call = self.stub().FullDuplexCall(iter([self.outputs(1, interval=30_000_000)]), timeout=0.2)
        self.assertEqual(self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, lambda **_: list(call)).code().value[0], 4)

    def test_a_message_at_the_limit_and_one_above(self):
        stub = self.stub()
        request = self.simple(1, bytes(4 * MIB - 10))
        for _ in range(20):  # until the whole message has exactly the limit's size
            difference = 4 * MIB - request.ByteSize()
            if not difference:
                break
            request.payload.body = bytes(len(request.payload.body) + difference)
        self.assertEqual(request.ByteSize(), 4 * MIB)
        self.assertEqual(stub.UnaryCall(request).payload.body, b"\0")
        request.payload.body += b"\0"
        self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, stub.UnaryCall, request)
        self.assertEqual(stub.UnaryCall(self.simple(2)).payload.body, b"\0\0")

    def test_sigterm_lets_the_call_in_flight_end(self):
        server = Server()
        channel = server.channel()
        answers = server.stub(channel).StreamingOutputCall(self.outputs(1, 2, 3, interval=400_000))
        self.assertEqual(len(next(answers).payload.body), 1)
        server.program.terminate()
        self.assertEqual([len(answer.payload.body) for answer in answers], [2, 3])
        channel.close()
        self.assertEqual(server.program.wait(15), 0)


class Metadata(Case):
    """What travels beside the messages."""

    INITIAL, TRAILING = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"

    def assertEchoed(self, call, text, blob):
        self.assertEqual(dict(call.initial_metadata()).get(self.INITIAL), text)
        self.assertEqual(dict(call.trailing_metadata()).get(self.TRAILING), blob)

    def test_text_and_all_bytes_come_back(self):
        stub = self.stub()
        for length in (1, 2, 3, 256):
            text, blob = "value with ~ !" + "x" * length, bytes(range(256))[-length:]
            metadata = [(self.INITIAL, text), (self.TRAILING, blob)]
            with self.subTest(length=length):
                _, call = stub.UnaryCall.with_call(self.simple(1), metadata=metadata)
                self.assertEchoed(call, text, blob)
                call = stub.FullDuplexCall(iter([self.outputs(1)]), metadata=metadata)
                self.assertEqual(len(list(call)), 1)
                self.assertEchoed(call, text, blob)

    def test_metadata_comes_with_an_error_too(self):
        request = self.simple(response_status=self.status(9, "no"))
        metadata = [(self.INITIAL, "text"), (self.TRAILING, b"\0\xff")]
        error = self.refused(grpc.StatusCode.FAILED_PRECONDITION, self.stub().UnaryCall, request, metadata=metadata)
        self.assertEqual(dict(error.trailing_metadata()).get(self.TRAILING), b"\0\xff")

    def test_many_values_of_one_name_keep_their_order(self):
        values = [b"one", b"", b"three\xff"]
        _, call = self.stub().UnaryCall.with_call(self.simple(1), metadata=[(self.TRAILING, value) for value in values])
        self.assertEqual([value for name, value in call.trailing_metadata() if name == self.TRAILING], values)


if __name__ == "__main__":
    unittest.main()

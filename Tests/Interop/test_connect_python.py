"""Connect for Python (an HTTP/2 stack in Rust) against our server: its three protocols, both codecs, with and without gzip."""

import unittest

from connectrpc.client import ConnectClientSync
from connectrpc.code import Code
from connectrpc.compat import google_protobuf_binary_codec, google_protobuf_json_codec
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType
from google.protobuf.message_factory import GetMessageClass
from interop import Case, Server
from pyqwest import HTTPVersion, SyncClient, SyncHTTPTransport

CODECS = {"proto": google_protobuf_binary_codec(), "json": google_protobuf_json_codec()}
CODES = list(Code)
MESSAGE = "\t Ünïcödé % 日本 😈\n"


class ConnectPython(Case):
    """Over h2c. Each test goes through every protocol, codec and compression."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.http = SyncClient(SyncHTTPTransport(http_version=HTTPVersion.HTTP2, **cls.security()))

    @classmethod
    def security(cls):
        return {}

    def method(self, name, kind=StreamType.UNARY):
        """How the library wants a method described."""
        service = self.ground.service
        method = service.FindMethodByName(name)
        safe = IdempotencyLevel.NO_SIDE_EFFECTS if name.startswith("Cacheable") else IdempotencyLevel.UNKNOWN
        return MethodInfo(
            name=name, service_name=service.full_name, input=GetMessageClass(method.input_type),
            output=GetMessageClass(method.output_type), idempotency_level=safe, stream_type=kind)

    @property
    def unary(self):
        return self.method("UnaryCall")

    @property
    def output(self):
        return self.method("StreamingOutputCall", StreamType.SERVER_STREAM)

    def client(self, protocol, codec="proto", gzip=True):
        return ConnectClientSync(
            self.server.url, codec=CODECS[codec], protocol=protocol, http_client=self.http,
            send_compression=GzipCompression() if gzip else None, accept_compression=[GzipCompression()] if gzip else [])

    def each(self, body):
        for protocol in ProtocolType:
            # gRPC with JSON is nobody's format but Connect's own clients'; ours answer it in binary only.
            for codec in CODECS if protocol is ProtocolType.CONNECT else ["proto"]:
                for gzip in (False, True):
                    with self.subTest(protocol=protocol, codec=codec, gzip=gzip):
                        body(self.client(protocol, codec, gzip), gzip)

    def failure(self, call):
        with self.assertRaises(ConnectError) as caught:
            call()
        return caught.exception

    def test_unary(self):
        def body(client, gzip):
            truth = self.m.BoolValue(value=gzip)
            request = self.simple(314_159, bytes(271_828), response_compressed=truth, expect_compressed=truth)
            self.assertEqual(client.execute_unary(request=request, method=self.unary).payload.body, bytes(314_159))

        self.each(body)

    def test_get(self):
        method = self.method("CacheableUnaryCall")
        for codec in CODECS:
            for gzip in (False, True):
                with self.subTest(codec=codec, gzip=gzip):
                    client = self.client(ProtocolType.CONNECT, codec, gzip)
                    answer = client.execute_unary(request=self.simple(7, bytes(100)), method=method, use_get=True)
                    self.assertEqual(answer.payload.body, bytes(7))

    def test_streams(self):
        sizes = [31_415, 9, 2_653, 58_979]

        def body(client, gzip):
            answers = client.execute_server_stream(request=self.outputs(*sizes), method=self.output)
            self.assertEqual([len(answer.payload.body) for answer in answers], sizes)
            total = client.execute_client_stream(
                request=iter([self.input(size) for size in sizes]),
                method=self.method("StreamingInputCall", StreamType.CLIENT_STREAM))
            self.assertEqual(total.aggregated_payload_size, sum(sizes))
            duplex = self.method("FullDuplexCall", StreamType.BIDI_STREAM)
            answers = client.execute_bidi_stream(request=iter([self.outputs(size) for size in sizes]), method=duplex)
            self.assertEqual([len(answer.payload.body) for answer in answers], sizes)

        self.each(body)

    def test_every_error_code(self):
        self.assertEqual(len(CODES), 16)

        def body(client, gzip):
            for number in range(1, 17):
                wanted = self.status(number, MESSAGE)
                error = self.failure(lambda wanted=wanted: client.execute_unary(
                    request=self.simple(response_status=wanted), method=self.unary))
                self.assertEqual(error.message, MESSAGE)
                streamed = self.failure(lambda wanted=wanted: list(client.execute_server_stream(
                    request=self.outputs(1, response_status=wanted), method=self.output)))
                self.assertEqual((streamed.code, streamed.message), (error.code, MESSAGE))
                seen.add(error.code)

        seen = set()
        self.each(body)
        self.assertEqual(seen, set(CODES))

    def test_a_deadline(self):
        def body(client, gzip):
            error = self.failure(lambda: list(client.execute_server_stream(
                request=self.outputs(1, interval=20_000_000), method=self.output, timeout_ms=300)))
            self.assertEqual(error.code, Code.DEADLINE_EXCEEDED)

        self.each(body)


class EncryptedConnectPython(ConnectPython):
    """The same over TLS."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server = Server(tls=True)

    @classmethod
    def security(cls):
        return {"tls_ca_cert": cls.ground.certificates.ca.read_bytes()}


if __name__ == "__main__":
    unittest.main()

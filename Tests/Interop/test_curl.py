"""curl against our server: Connect with JSON, bare frames of gRPC, and a plain page."""

import base64
import gzip
import json
import struct
import subprocess
import unittest
import urllib.parse

from interop import Case, Server

SERVICE = "/grpc.testing.TestService/"
# The HTTP status of each code's Connect error, from 1 to 16.
HTTP = [499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401]
NAMES = ["canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists", "permission_denied",
         "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented", "internal", "unavailable",
         "data_loss", "unauthenticated"]
MESSAGE = "\t Ünïcödé % 日本 😈\n"


def frame(message, flags=0):
    """A message behind its prefix, as gRPC, gRPC-Web and Connect's streams have it."""
    return struct.pack(">BI", flags, len(message)) + message


def frames(body):
    """The flags and bytes of each message of a body."""
    found = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        assert len(body) >= 5 + length, "a message is cut off"
        found.append((flags, body[5:5 + length]))
        body = body[5 + length:]
    return found


class Curl(Case):
    """`call` is one request; its answer has status, headers by lower-case name, body and trailers."""

    def curl(self, target, *options, body=None, headers=()):
        command = ["curl", "-sS", "--max-time", "20", "-D", "/dev/stderr", *self.transport(), *options]
        for header in headers:
            command += ["-H", header]
        if body is not None:
            command += ["--data-binary", "@-"]
        done = subprocess.run(command + [self.server.url + target], input=body or b"", capture_output=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        blocks = [block for block in done.stderr.decode().replace("\r\n", "\n").split("\n\n") if block.strip()]
        status, *fields = blocks[0].split("\n")
        # What follows the blank line after the headers are the trailers.
        trailers = [line for block in blocks[1:] for line in block.split("\n")]
        return int(status.split()[1]), self.fields(fields), done.stdout, self.fields(trailers)

    @staticmethod
    def fields(lines):
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines) if value or name}

    def transport(self):
        return ["--http2-prior-knowledge"]

    def connect(self, method, message, *headers, **how):
        """A unary call by Connect with JSON."""
        headers = ("content-type: application/json", "connect-protocol-version: 1", *headers)
        status, fields, body, _ = self.curl(SERVICE + method, body=json.dumps(message).encode(), headers=headers, **how)
        return status, fields, body


class JSONCalls(Curl):
    """Connect's unary calls with JSON."""

    def test_unary(self):
        status, headers, body = self.connect("UnaryCall", {"responseSize": 3, "payload": {"body": "AAECAw=="}})
        self.assertEqual((status, headers["content-type"]), (200, "application/json"))
        self.assertEqual(json.loads(body), {"payload": {"body": "AAAA"}})
        self.assertEqual(self.connect("EmptyCall", {})[2], b"{}")

    def test_names_of_the_proto_file_work_too(self):
        status, _, body = self.connect("UnaryCall", {"response_size": 3})
        self.assertEqual((status, json.loads(body)), (200, {"payload": {"body": "AAAA"}}))

    def test_every_error_has_its_http_status(self):
        for code in range(1, 17):
            with self.subTest(code=code):
                status, headers, body = self.connect("UnaryCall", {"responseStatus": {"code": code, "message": MESSAGE}})
                self.assertEqual((status, headers["content-type"]), (HTTP[code - 1], "application/json"))
                error = json.loads(body)
                self.assertEqual((error["code"], error["message"]), (NAMES[code - 1], MESSAGE))

    def test_a_request_that_is_no_json(self):
        status, headers, body, _ = self.curl(
            SERVICE + "UnaryCall", body=b"{", headers=["content-type: application/json"])
        self.assertEqual((status, headers["content-type"]), (400, "application/json"))
        self.assertEqual(json.loads(body)["code"], "invalid_argument")

    def test_unknown_methods_and_types(self):
        self.assertEqual(self.connect("NoSuchMethod", {})[0], 404)
        status, headers, *_ = self.curl(SERVICE + "UnaryCall", body=b"x", headers=["content-type: text/strange"])
        self.assertEqual(status, 415)
        self.assertIn("application/json", headers.get("accept-post", ""))

    def test_get_only_where_there_are_no_side_effects(self):
        message = urllib.parse.quote(json.dumps({"responseSize": 3}))
        status, _, body, _ = self.curl(f"{SERVICE}CacheableUnaryCall?connect=v1&encoding=json&message={message}")
        self.assertEqual((status, json.loads(body)), (200, {"payload": {"body": "AAAA"}}))
        status, headers, *_ = self.curl(f"{SERVICE}UnaryCall?connect=v1&encoding=json&message={message}")
        self.assertEqual((status, headers.get("allow")), (405, "POST"))

    def test_get_with_base64_and_compression(self):
        def ask(data, **more):
            message = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
            query = urllib.parse.urlencode({"connect": "v1", "base64": "1", "message": message, **more})
            return self.curl(f"{SERVICE}CacheableUnaryCall?{query}")

        request = self.simple(3)
        status, headers, body, _ = ask(request.SerializeToString(), encoding="proto")
        self.assertEqual((status, headers["content-type"]), (200, "application/proto"))
        self.assertEqual(self.m.SimpleResponse.FromString(body).payload.body, bytes(3))
        packed = gzip.compress(json.dumps({"responseSize": 4}).encode())
        status, _, body, _ = ask(packed, encoding="json", compression="gzip")
        self.assertEqual((status, json.loads(body)), (200, {"payload": {"body": "AAAAAA=="}}))

    def test_gzip_both_ways(self):
        packed = gzip.compress(json.dumps({"responseSize": 10_000, "payload": {"body": "A" * 40_000},
                                           "expectCompressed": {"value": True}, "responseCompressed": {"value": True}}).encode())
        status, headers, body, _ = self.curl(SERVICE + "UnaryCall", body=packed, headers=[
            "content-type: application/json", "content-encoding: gzip", "accept-encoding: gzip"])
        self.assertEqual((status, headers.get("content-encoding")), (200, "gzip"))
        self.assertLess(len(body), 1_000)
        self.assertEqual(len(base64.b64decode(json.loads(gzip.decompress(body))["payload"]["body"])), 10_000)

    def test_an_unknown_compression_is_unimplemented(self):
        status, _, body, _ = self.curl(SERVICE + "UnaryCall", body=b"{}", headers=[
            "content-type: application/json", "content-encoding: br"])
        self.assertEqual((status, json.loads(body)["code"]), (501, "unimplemented"))
        self.assertIn("gzip", json.loads(body)["message"])

    def test_metadata(self):
        blob = base64.b64encode(b"\0\xff!").decode().rstrip("=")
        _, headers, _ = self.connect(
            "UnaryCall", {}, "x-grpc-test-echo-initial: here", f"x-grpc-test-echo-trailing-bin: {blob}")
        self.assertEqual(headers["x-grpc-test-echo-initial"], "here")
        self.assertEqual(headers["trailer-x-grpc-test-echo-trailing-bin"].rstrip("="), blob)

    def test_a_timeout_in_milliseconds(self):
        status, headers, body, _ = self.curl(
            SERVICE + "StreamingOutputCall", body=frame(b'{"responseParameters":[{"size":1,"intervalUs":20000000}]}'),
            headers=["content-type: application/connect+json", "connect-timeout-ms: 200"])
        self.assertEqual((status, headers["content-type"]), (200, "application/connect+json"))
        (flags, end), = frames(body)
        self.assertEqual((flags, json.loads(end)["error"]["code"]), (2, "deadline_exceeded"))
        status, _, body = self.connect("UnaryCall", {}, "connect-timeout-ms: never")
        self.assertEqual((status, json.loads(body)["code"]), (400, "invalid_argument"))

    def test_a_body_beyond_the_limit(self):
        status, _, body = self.connect("UnaryCall", {"payload": {"body": "A" * (6 << 20)}})
        self.assertEqual((status, json.loads(body)["code"]), (429, "resource_exhausted"))

    def test_streams(self):
        request = frame(b'{"responseParameters":[{"size":3},{"size":1}]}')
        status, _, body, _ = self.curl(
            SERVICE + "StreamingOutputCall", body=request, headers=["content-type: application/connect+json"])
        self.assertEqual(status, 200)
        *answers, (flags, end) = frames(body)
        self.assertEqual([json.loads(message) for _, message in answers], [{"payload": {"body": "AAAA"}}, {"payload": {"body": "AA=="}}])
        self.assertEqual((flags, json.loads(end)), (2, {}))
        inputs = b"".join(frame(json.dumps({"payload": {"body": "AAAA"}}).encode()) for _ in range(5))
        _, _, body, _ = self.curl(
            SERVICE + "StreamingInputCall", body=inputs, headers=["content-type: application/connect+json"])
        self.assertEqual(json.loads(frames(body)[0][1]), {"aggregatedPayloadSize": 15})


class EncryptedJSONCalls(Curl):
    """The same port with TLS: ALPN says h2."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server = Server(tls=True)

    def transport(self):
        return ["--http2", "--cacert", str(self.ground.certificates.ca)]

    def test_unary(self):
        status, _, body = self.connect("UnaryCall", {"responseSize": 3})
        self.assertEqual((status, json.loads(body)), (200, {"payload": {"body": "AAAA"}}))

    def test_the_page(self):
        self.assertEqual(len(self.curl("/")[2]), 64)


class BareFrames(Curl):
    """gRPC and gRPC-Web as bytes, to see what other clients hide."""

    GRPC = ["content-type: application/grpc", "te: trailers"]

    def test_the_page_has_64_bytes(self):
        status, _, body, _ = self.curl("/")
        self.assertEqual((status, len(body)), (200, 64))

    def test_an_error_is_one_block_of_headers(self):
        request = self.simple(response_status=self.status(5, "no such thing: 100 %")).SerializeToString()
        status, headers, body, trailers = self.curl(SERVICE + "UnaryCall", body=frame(request), headers=self.GRPC)
        self.assertEqual((status, headers["grpc-status"], body, trailers), (200, "5", b"", {}))
        self.assertEqual(headers["grpc-message"], "no such thing: 100 %25")

    def test_a_success_has_trailers(self):
        _, headers, body, trailers = self.curl(
            SERVICE + "UnaryCall", body=frame(self.simple(3).SerializeToString()), headers=self.GRPC)
        self.assertNotIn("grpc-status", headers)
        self.assertEqual(trailers["grpc-status"], "0")
        self.assertEqual([flags for flags, _ in frames(body)], [0])

    def test_compression_on_the_wire(self):
        for accepted, wanted, flag in (("gzip", True, 1), ("gzip", False, 0), ("identity", True, 0)):
            with self.subTest(accepted=accepted, wanted=wanted):
                request = self.simple(10_000, response_compressed=self.m.BoolValue(value=wanted)).SerializeToString()
                _, headers, body, trailers = self.curl(
                    SERVICE + "UnaryCall", body=frame(request), headers=[*self.GRPC, f"grpc-accept-encoding: {accepted}"])
                self.assertEqual(trailers["grpc-status"], "0")
                (flags, message), = frames(body)
                self.assertEqual(flags, flag)
                if flag:
                    self.assertEqual(headers["grpc-encoding"], "gzip")
                    self.assertLess(len(message), 1_000)
                    message = gzip.decompress(message)
                self.assertEqual(len(self.m.SimpleResponse.FromString(message).payload.body), 10_000)

    def test_an_unknown_encoding_names_the_known_ones(self):
        # Without a body: curl 7.88 waits for ever when a response without one comes before it has sent its own.
        _, headers, _, _ = self.curl(SERVICE + "UnaryCall", "-X", "POST", headers=[*self.GRPC, "grpc-encoding: snappy"])
        self.assertEqual(headers["grpc-status"], "12")
        self.assertIn("gzip", headers["grpc-accept-encoding"])

    def test_a_compressed_message_without_an_encoding_is_internal(self):
        _, headers, _, _ = self.curl(SERVICE + "UnaryCall", body=frame(gzip.compress(b""), 1), headers=self.GRPC)
        self.assertEqual(headers["grpc-status"], "13")

    def test_grpc_web_ends_in_a_frame_of_trailers(self):
        headers = ["content-type: application/grpc-web+proto", "x-grpc-web: 1", "x-grpc-test-echo-initial: hi"]
        status, fields, body, trailers = self.curl(
            SERVICE + "StreamingOutputCall", body=frame(self.outputs(3, 1).SerializeToString()), headers=headers)
        self.assertEqual((status, fields["content-type"], trailers), (200, "application/grpc-web+proto", {}))
        self.assertEqual(fields["x-grpc-test-echo-initial"], "hi")
        self.assertEqual([flags for flags, _ in frames(body)], [0, 0, 0x80])
        end = dict(line.split(":", 1) for line in frames(body)[-1][1].decode().split("\r\n") if line)
        self.assertEqual(end["grpc-status"].strip(), "0")


if __name__ == "__main__":
    unittest.main()

"""What a browser sends, through the edge: CORS, gRPC-Web and Connect, over HTTP/1.1 and HTTP/2, with and without TLS."""

import http.client
import json
import os
import shutil
import ssl
import unittest

from interop import ROOT, Case
from stack import run
from test_curl import Curl, frame, frames

SERVICE = "/grpc.testing.TestService/"
ORIGIN = "https://app.example"
# What scripts must be able to read of a response that comes from elsewhere.
EXPOSED = {"grpc-status", "grpc-message", "grpc-status-details-bin"}


def names(value):
    """The names of a list in a header."""
    return {name.strip().lower() for name in (value or "").split(",") if name.strip()}


class Edge:
    """nghttpx as a local run starts it, before one server."""

    def __init__(self, ground, server):
        self.folder = ground.folder / "edge-run"
        self.folder.mkdir()
        (self.folder / "tls").symlink_to(ground.certificates.folder)
        self._command(f"edge_start edge 0 0 {server.port}")
        found = dict(line.split("=") for line in (self.folder / "edge/ports").read_text().split())
        self.http, self.https = int(found["http"]), int(found["https"])

    def _command(self, command):
        script = f". deploy/local/processes.sh; . deploy/local/edge.sh; {command}"
        run(["bash", "-c", script], cwd=ROOT, env=dict(os.environ, PARLEY_LOCAL=str(self.folder)))

    def stop(self):
        self._command("process_stop edge")


class ThroughTheEdge(Case):
    """A server and an edge for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.edge = Edge(cls.ground, cls.server)
        cls.addClassCleanup(lambda: shutil.rmtree(cls.edge.folder))
        cls.addClassCleanup(cls.edge.stop)

    def request(self, method, path, body=None, headers=(), tls=False):
        """One request over HTTP/1.1; status, headers and body."""
        if tls:
            trust = ssl.create_default_context(cafile=str(self.ground.certificates.ca))
            connection = http.client.HTTPSConnection("localhost", self.edge.https, timeout=20, context=trust)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.edge.http, timeout=20)
        self.addCleanup(connection.close)
        connection.request(method, path, body=body, headers={"Origin": ORIGIN, **dict(headers)})
        answer = connection.getresponse()
        self.assertEqual(answer.version, 11)
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


class CORS(ThroughTheEdge):
    """A page of another origin asks first."""

    def preflight(self, method, *headers, path=SERVICE + "UnaryCall"):
        return self.request("OPTIONS", path, headers={
            "Access-Control-Request-Method": method, "Access-Control-Request-Headers": ",".join(headers)})

    def test_a_preflight_allows_what_the_protocols_need(self):
        wanted = ["content-type", "x-grpc-web", "x-user-agent", "grpc-timeout", "connect-protocol-version", "connect-timeout-ms",
                  "authorization", "x-grpc-test-echo-initial"]
        status, headers, body = self.preflight("POST", *wanted)
        self.assertIn(status, (200, 204))
        self.assertIn(headers["access-control-allow-origin"], (ORIGIN, "*"))
        self.assertIn("POST", headers["access-control-allow-methods"])
        allowed = names(headers["access-control-allow-headers"])
        self.assertTrue("*" in allowed or set(wanted) <= allowed, allowed)
        self.assertEqual(body, b"")
        self.assertGreater(int(headers.get("access-control-max-age", "0")), 0)

    def test_a_preflight_for_get(self):
        status, headers, _ = self.preflight("GET", "connect-timeout-ms", path=SERVICE + "CacheableUnaryCall")
        self.assertIn(status, (200, 204))
        self.assertIn("GET", headers["access-control-allow-methods"])

    def test_answers_and_errors_may_be_read(self):
        kinds = {
            "application/json": b'{"responseStatus":{"code":7,"message":"no"}}',
            "application/grpc-web+proto": frame(self.simple(response_status=self.status(7, "no")).SerializeToString()),
        }
        for kind, body in kinds.items():
            with self.subTest(kind=kind):
                _, headers, _ = self.request("POST", SERVICE + "UnaryCall", body, {"Content-Type": kind})
                self.assertIn(headers["access-control-allow-origin"], (ORIGIN, "*"))
                exposed = names(headers.get("access-control-expose-headers"))
                self.assertTrue("*" in exposed or EXPOSED <= exposed, exposed)

    def test_metadata_may_be_read(self):
        _, headers, _ = self.request("POST", SERVICE + "UnaryCall", b"{}", {
            "Content-Type": "application/json", "x-grpc-test-echo-initial": "seen"})
        self.assertEqual(headers["x-grpc-test-echo-initial"], "seen")
        exposed = names(headers["access-control-expose-headers"])
        self.assertTrue("*" in exposed or "x-grpc-test-echo-initial" in exposed, exposed)


class GRPCWeb(ThroughTheEdge):
    """Binary gRPC-Web over HTTP/1.1."""

    HEADERS = {"Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1", "X-User-Agent": "grpc-web-javascript/0.1"}

    def call(self, method, request, tls=False, **headers):
        """The messages and the trailers of a call."""
        status, fields, body = self.request(
            "POST", SERVICE + method, frame(request.SerializeToString()), {**self.HEADERS, **headers}, tls)
        self.assertEqual((status, fields["content-type"]), (200, "application/grpc-web+proto"))
        found = frames(body)
        if not found:  # nothing but trailers: they are the headers
            return [], fields
        *messages, (flags, end) = found
        self.assertEqual(flags, 0x80)
        return [message for _, message in messages], dict(line.split(":", 1) for line in end.decode().split("\r\n") if line)

    def test_unary(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                (message,), trailers = self.call("UnaryCall", self.simple(314_159, bytes(271_828)), tls)
                self.assertEqual(self.m.SimpleResponse.FromString(message).payload.body, bytes(314_159))
                self.assertEqual(trailers["grpc-status"].strip(), "0")

    def test_server_streaming(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                sizes = [31_415, 9, 2_653, 58_979]
                messages, trailers = self.call("StreamingOutputCall", self.outputs(*sizes, interval=10_000), tls)
                found = [len(self.m.StreamingOutputCallResponse.FromString(message).payload.body) for message in messages]
                self.assertEqual((found, trailers["grpc-status"].strip()), (sizes, "0"))

    def test_an_error(self):
        messages, trailers = self.call("UnaryCall", self.simple(response_status=self.status(5, "no such thing: ☃")))
        self.assertEqual((messages, trailers["grpc-status"].strip()), ([], "5"))
        self.assertEqual(trailers["grpc-message"].strip(), "no such thing: %E2%98%83")

    def test_an_error_after_messages(self):
        messages, trailers = self.call("StreamingOutputCall", self.outputs(3, response_status=self.status(9, "then")))
        self.assertEqual((len(messages), trailers["grpc-status"].strip(), trailers["grpc-message"].strip()), (1, "9", "then"))


class Connect(ThroughTheEdge):
    """Connect over HTTP/1.1."""

    def test_unary(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                status, headers, body = self.request("POST", SERVICE + "UnaryCall", b'{"responseSize":3}', {
                    "Content-Type": "application/json", "Connect-Protocol-Version": "1"}, tls)
                self.assertEqual((status, headers["content-type"], json.loads(body)), (200, "application/json", {"payload": {"body": "AAAA"}}))

    def test_unary_with_a_large_body(self):
        request = self.simple(1 << 20, bytes(1 << 20)).SerializeToString()
        status, _, body = self.request("POST", SERVICE + "UnaryCall", request, {"Content-Type": "application/proto"})
        self.assertEqual((status, self.m.SimpleResponse.FromString(body).payload.body), (200, bytes(1 << 20)))

    def test_unary_with_a_body_in_chunks(self):
        status, _, body = self.request(
            "POST", SERVICE + "UnaryCall", iter([b'{"response', b'Size":3}']), {"Content-Type": "application/json"})
        self.assertEqual((status, json.loads(body)), (200, {"payload": {"body": "AAAA"}}))

    def test_get(self):
        query = "connect=v1&encoding=json&message=%7B%22responseSize%22%3A3%7D"
        status, _, body = self.request("GET", f"{SERVICE}CacheableUnaryCall?{query}")
        self.assertEqual((status, json.loads(body)), (200, {"payload": {"body": "AAAA"}}))

    def test_errors(self):
        status, headers, body = self.request(
            "POST", SERVICE + "UnaryCall", b'{"responseStatus":{"code":5,"message":"no such \\u2603"}}',
            {"Content-Type": "application/json"})
        self.assertEqual((status, headers["content-type"]), (404, "application/json"))
        self.assertEqual({name: json.loads(body)[name] for name in ("code", "message")}, {"code": "not_found", "message": "no such ☃"})

    def test_server_streaming(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                body = frame(b'{"responseParameters":[{"size":3},{"size":1,"intervalUs":10000}]}')
                status, headers, answer = self.request(
                    "POST", SERVICE + "StreamingOutputCall", body, {"Content-Type": "application/connect+json"}, tls)
                self.assertEqual((status, headers["content-type"]), (200, "application/connect+json"))
                *messages, (flags, end) = frames(answer)
                self.assertEqual([json.loads(message)["payload"]["body"] for _, message in messages], ["AAAA", "AA=="])
                self.assertEqual((flags, json.loads(end)), (2, {}))

    def test_client_streaming(self):
        body = b"".join(frame(b'{"payload":{"body":"AAAA"}}') for _ in range(5))
        _, _, answer = self.request("POST", SERVICE + "StreamingInputCall", body, {"Content-Type": "application/connect+json"})
        self.assertEqual(json.loads(frames(answer)[0][1]), {"aggregatedPayloadSize": 15})


class OverHTTP2(ThroughTheEdge):
    """The edge with TLS and HTTP/2, as browsers meet it."""

    def test_all_protocols(self):
        curl = Curl()
        curl.server = type("Address", (), {"url": f"https://localhost:{self.edge.https}"})
        curl.transport = lambda: ["--http2", "--cacert", str(self.ground.certificates.ca)]
        status, _, body, _ = curl.curl(SERVICE + "UnaryCall", body=b'{"responseSize":3}', headers=["content-type: application/json"])
        self.assertEqual((status, json.loads(body)), (200, {"payload": {"body": "AAAA"}}))
        request = frame(self.outputs(3, 1).SerializeToString())
        status, _, body, _ = curl.curl(
            SERVICE + "StreamingOutputCall", body=request, headers=["content-type: application/grpc-web+proto"])
        self.assertEqual((status, [flags for flags, _ in frames(body)]), (200, [0, 0, 0x80]))
        status, _, body, trailers = curl.curl(
            SERVICE + "StreamingOutputCall", body=request, headers=["content-type: application/grpc", "te: trailers"])
        self.assertEqual((status, len(frames(body)), trailers["grpc-status"]), (200, 2, "0"))


if __name__ == "__main__":
    unittest.main()

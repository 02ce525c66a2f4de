"""`buf curl` against our server: three protocols, all kinds of calls, with reflection and with the files."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from interop import ROOT, Case, Server

BUF = Path(sys.executable).parent / "buf"
PROTOCOLS = ("grpc", "grpcweb", "connect")
MESSAGE = "\t Ünïcödé % 日本 😈\n"


class Buf(Case):
    """Calls over h2c; `schemas` are the ways to learn the messages."""

    schemas = {"files": ["--schema", str(ROOT / "proto")], "reflection": []}

    def buf(self, method, *messages, protocol, schema, options=()):
        """Exit status, the answers, and what it said."""
        command = [BUF, "curl", "--protocol", protocol, *self.transport(), *schema, *options, "--data", "@-",
                   f"{self.server.url}/grpc.testing.TestService/{method}"]
        environment = {**os.environ, "BUF_CACHE_DIR": str(self.ground.folder / "buf"), "HOME": str(self.ground.folder)}
        done = subprocess.run(
            [str(word) for word in command], input="\n".join(json.dumps(message) for message in messages), text=True,
            capture_output=True, timeout=20, env=environment, check=False)
        answers, text, decoder = [], done.stdout.strip(), json.JSONDecoder()
        while text:
            answer, end = decoder.raw_decode(text)
            answers.append(answer)
            text = text[end:].lstrip()
        return done.returncode, answers, done.stderr

    def transport(self):
        return ["--http2-prior-knowledge"]

    def everywhere(self):
        """Each protocol with each way to learn the messages."""
        return [{"protocol": protocol, "schema": schema} for protocol in PROTOCOLS for schema in self.schemas.values()]

    def assertAnswers(self, result, *answers):
        status, found, said = result
        self.assertEqual((status, found), (0, list(answers)), said)

    def test_unary(self):
        for how in self.everywhere():
            with self.subTest(protocol=how["protocol"], reflects=not how["schema"]):
                request = {"responseSize": 3, "payload": {"body": "AAECAw=="}}
                self.assertAnswers(self.buf("UnaryCall", request, **how), {"payload": {"body": "AAAA"}})
                self.assertAnswers(self.buf("EmptyCall", {}, **how), {})

    def test_server_streaming(self):
        for how in self.everywhere():
            with self.subTest(protocol=how["protocol"], reflects=not how["schema"]):
                request = {"responseParameters": [{"size": 3}, {"size": 1}, {"size": 0}]}
                status, answers, said = self.buf("StreamingOutputCall", request, **how)
                self.assertEqual((status, [len(answer["payload"].get("body", "")) for answer in answers]), (0, [4, 4, 0]), said)

    def test_client_streaming(self):
        for how in self.everywhere():
            with self.subTest(protocol=how["protocol"], reflects=not how["schema"]):
                requests = [{"payload": {"body": "AAAA"}}] * 5
                self.assertAnswers(self.buf("StreamingInputCall", *requests, **how), {"aggregatedPayloadSize": 15})

    def test_bidirectional_streaming(self):
        for how in self.everywhere():
            with self.subTest(protocol=how["protocol"], reflects=not how["schema"]):
                requests = [{"responseParameters": [{"size": 3}]}, {"responseParameters": [{"size": 3}, {"size": 3}]}]
                for method in ("FullDuplexCall", "HalfDuplexCall"):
                    self.assertAnswers(self.buf(method, *requests, **how), *[{"payload": {"body": "AAAA"}}] * 3)

    def test_every_error_code(self):
        for protocol in PROTOCOLS:
            for code in range(1, 17):
                with self.subTest(protocol=protocol, code=code):
                    status, answers, said = self.buf(
                        "UnaryCall", {"responseStatus": {"code": code, "message": MESSAGE}}, protocol=protocol,
                        schema=self.schemas["files"])
                    self.assertEqual((status, answers), (code << 3, []), said)
                    self.assertEqual(json.loads(said)["message"], MESSAGE)

    def test_an_error_in_the_middle_of_a_stream(self):
        for how in self.everywhere():
            with self.subTest(protocol=how["protocol"], reflects=not how["schema"]):
                request = {"responseParameters": [{"size": 3}], "responseStatus": {"code": 9, "message": "then this"}}
                status, answers, said = self.buf("StreamingOutputCall", request, **how)
                self.assertEqual((status, answers), (9 << 3, [{"payload": {"body": "AAAA"}}]), said)
                self.assertEqual(json.loads(said)["message"], "then this")

    def test_metadata(self):
        for how in self.everywhere():
            with self.subTest(protocol=how["protocol"], reflects=not how["schema"]):
                _, _, said = self.buf("UnaryCall", {}, options=[
                    "-v", "-H", "x-grpc-test-echo-initial: here", "-H", "x-grpc-test-echo-trailing-bin: AP8"], **how)
                lower = said.lower()
                self.assertIn("< (#", lower)
                self.assertGreaterEqual(lower.count("x-grpc-test-echo-initial: here"), 2, said)
                # What follows a gRPC-Web response is in its body, of which nothing is shown.
                shown = 1 if how["protocol"] == "grpcweb" else 2
                self.assertGreaterEqual(lower.count("x-grpc-test-echo-trailing-bin: ap8"), shown, said)

    def test_unimplemented(self):
        for how in self.everywhere():
            with self.subTest(protocol=how["protocol"], reflects=not how["schema"]):
                self.assertEqual(self.buf("UnimplementedCall", {}, **how)[0], 12 << 3)


class EncryptedBuf(Buf):
    """The same over TLS."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server = Server(tls=True)

    def transport(self):
        return ["--cacert", str(self.ground.certificates.ca)]


if __name__ == "__main__":
    unittest.main()

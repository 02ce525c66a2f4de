"""TLS and mutual TLS: who is let in, and who is not."""

import subprocess
import unittest

import grpc
from interop import Case, Server


class Encrypted(Case):
    """A server with a certificate of its own authority."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server = Server(tls=True)
        cls.certificates = cls.ground.certificates

    def test_all_kinds_of_calls(self):
        stub = self.stub()
        self.assertEqual(len(stub.UnaryCall(self.simple(314_159, bytes(271_828))).payload.body), 314_159)
        self.assertEqual([len(a.payload.body) for a in stub.StreamingOutputCall(self.outputs(31_415, 9))], [31_415, 9])
        self.assertEqual(stub.StreamingInputCall(self.input(size) for size in (27_182, 8)).aggregated_payload_size, 27_190)
        self.assertEqual([len(a.payload.body) for a in stub.FullDuplexCall(iter([self.outputs(5), self.outputs(6)]))], [5, 6])

    def test_an_unknown_authority_is_refused(self):
        stub = self.stub(credentials=grpc.ssl_channel_credentials(self.certificates.stranger_ca.read_bytes()))
        error = self.refused(grpc.StatusCode.UNAVAILABLE, stub.EmptyCall, self.empty(), timeout=10)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", error.details())

    def test_another_name_is_refused(self):
        stub = self.stub(options=[("grpc.ssl_target_name_override", "elsewhere.example")])
        self.refused(grpc.StatusCode.UNAVAILABLE, stub.EmptyCall, self.empty(), timeout=10)

    def test_clear_text_is_refused(self):
        channel = grpc.insecure_channel(self.server.address, [("grpc.enable_retries", 0)])
        self.addCleanup(channel.close)
        self.refused(grpc.StatusCode.UNAVAILABLE, self.server.stub(channel).EmptyCall, self.empty(), timeout=5)

    def test_old_versions_and_other_protocols_are_refused(self):
        address = f"127.0.0.1:{self.server.port}"
        for options, expected in ((["-alpn", "h2", "-tls1_2"], 0), (["-alpn", "h2", "-tls1_3"], 0), (["-alpn", "http/1.1"], 1),
                                  (["-alpn", "h2", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], 1)):
            with self.subTest(options=options):
                done = subprocess.run(
                    ["openssl", "s_client", "-connect", address, "-CAfile", self.certificates.ca, *options],
                    stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
                self.assertEqual(done.returncode, expected, done.stderr[-500:])


class Mutual(Case):
    """A server that lets nobody in without a certificate."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server = Server(tls=True, mutual=True)
        cls.certificates = cls.ground.certificates

    def credentials(self, key=None, chain=None):
        return grpc.ssl_channel_credentials(
            self.certificates.ca.read_bytes(), key and key.read_bytes(), chain and chain.read_bytes())

    def test_a_client_with_a_certificate_gets_in(self):
        stub = self.stub(credentials=self.credentials(self.certificates.client_key, self.certificates.client))
        self.assertEqual(len(stub.UnaryCall(self.simple(5)).payload.body), 5)

    def test_a_client_without_one_does_not(self):
        stub = self.stub(credentials=self.credentials())
        self.refused(grpc.StatusCode.UNAVAILABLE, stub.EmptyCall, self.empty(), timeout=10)

    def test_a_stranger_does_not(self):
        stub = self.stub(credentials=self.credentials(self.certificates.stranger_key, self.certificates.stranger))
        self.refused(grpc.StatusCode.UNAVAILABLE, stub.EmptyCall, self.empty(), timeout=10)


if __name__ == "__main__":
    unittest.main()

"""Our client against a server on gRPC for Python, and against our own."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

from cases import CASES, COMPRESSED_REQUESTS, each
from interop import BINARIES, Ground, Server
from stack import await_true


class GrpcioServer(unittest.TestCase):
    """interop-client against grpcio_server.py, over h2c."""

    tls = False
    cases = [name for name in CASES if name not in COMPRESSED_REQUESTS]

    @classmethod
    def setUpClass(cls):
        cls.ground = Ground.get()
        cls.start()

    @classmethod
    def start(cls):
        certificates = [cls.ground.certificates.server, cls.ground.certificates.server_key] if cls.tls else []
        cls.program = cls.ground.start(
            "grpcio-server", [sys.executable, Path(__file__).parent / "grpcio_server.py", cls.ground.folder / "stubs", *certificates])
        listens = await_true("the grpcio server listens", lambda: not cls.program.runs or re.search(
            r"^listening on \S+:(\d+)$", cls.program.text(), re.MULTILINE), 20)
        if listens is True:
            raise AssertionError(cls.program.text()[-2000:])
        cls.port = int(listens.group(1))

    @classmethod
    def tearDownClass(cls):
        cls.program.stop()

    def test_cases(self):
        more = ["--tls", "--ca", self.ground.certificates.ca, "--server_name", "localhost"] if self.tls else []
        each(self, self.cases, lambda name: [
            BINARIES / "interop-client", "--host", "127.0.0.1", "--port", self.port, "--test_case", name, *more])

    def test_an_unknown_case_fails(self):
        done = subprocess.run(
            [BINARIES / "interop-client", "--host", "127.0.0.1", "--port", str(self.port), "--test_case", "no_such_case"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
        self.assertNotEqual(done.returncode, 0)


class EncryptedGrpcioServer(GrpcioServer):
    """The same over TLS."""

    tls = True

    def test_an_unknown_authority_is_refused(self):
        done = subprocess.run(
            [BINARIES / "interop-client", "--host", "127.0.0.1", "--port", str(self.port), "--test_case", "empty_unary", "--tls",
             "--ca", self.ground.certificates.stranger_ca, "--server_name", "localhost"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)


class OwnServer(GrpcioServer):
    """interop-client against interop-server, over h2c."""

    cases = CASES

    @classmethod
    def start(cls):
        server = Server(tls=cls.tls)
        cls.program, cls.port = server.program, server.port


class EncryptedOwnServer(OwnServer):
    """The same over TLS."""

    tls = True


if __name__ == "__main__":
    unittest.main()

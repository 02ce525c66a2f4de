"""gRPC C++ from Debian's source package: its client against our server, and our client against its server."""

import os
import socket
import unittest
from pathlib import Path

from cases import CASES, SERVER_ID, each
from interop import BINARIES, ROOT, Case, Ground, Server
from stack import await_true

JUDGE = Path(os.environ.get("PARLEY_INTEROP_GRPC_CPP") or ROOT / ".local/judges/grpc-cpp")


def setUpModule():
    if not (JUDGE / "interop_client").exists():
        raise AssertionError("gRPC C++ is not built: run Tests/Judges/grpc-cpp.sh")


class CPPClient(Case):
    """interop_client, over h2c."""

    def test_cases(self):
        each(self, CASES, lambda name: [
            JUDGE / "interop_client", *self.address(name), f"--test_case={name}", "--soak_iterations=200",
            "--soak_per_iteration_max_acceptable_latency_ms=3000", "--soak_overall_timeout_seconds=60",
        ], env={**os.environ, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(self.ground.certificates.ca)})

    def address(self, name):
        return ["--server_host=127.0.0.1", f"--server_port={self.server.port}"]


class EncryptedCPPClient(CPPClient):
    """interop_client, over TLS."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server = Server(tls=True)

    def address(self, name):
        address = ["--server_host=localhost", f"--server_port={self.server.port}", "--use_tls=true"]
        # This one case makes its channel in another way and looks at this flag alone.
        return address + (["--custom_credentials_type=ssl"] if name == "pick_first_unary" else [])


class CPPServer(unittest.TestCase):
    """Our interop-client against interop_server, over h2c."""

    tls = False

    @classmethod
    def setUpClass(cls):
        cls.ground = Ground.get()
        # It cannot choose a port by itself; one that was free a moment ago usually still is.
        for _ in range(4):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                cls.port = probe.getsockname()[1]
            cls.program = cls.ground.start(
                "cpp-server", [JUDGE / "interop_server", f"--port={cls.port}", f"--use_tls={'true' if cls.tls else 'false'}"])
            if await_true("the C++ server listens", cls._answers, 20) == "listens":
                return
        raise AssertionError(cls.program.text()[-2000:])

    @classmethod
    def _answers(cls):
        if not cls.program.runs:
            return "ended"
        with socket.socket() as probe:
            return "listens" if probe.connect_ex(("127.0.0.1", cls.port)) == 0 else None

    @classmethod
    def tearDownClass(cls):
        cls.program.stop()

    def test_cases(self):
        more = ["--tls", "--ca", JUDGE / "ca.pem", "--server_name", "foo.test.google.fr"] if self.tls else []
        each(self, [name for name in CASES if name not in SERVER_ID], lambda name: [
            BINARIES / "interop-client", "--host", "127.0.0.1", "--port", self.port, "--test_case", name, *more])


class EncryptedCPPServer(CPPServer):
    """The same over TLS."""

    tls = True


if __name__ == "__main__":
    unittest.main()

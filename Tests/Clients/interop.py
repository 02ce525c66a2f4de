"""A server of the public interoperability tests, and the Python stubs of its services.

`Server` is one interop-server on a port that the system chose. `Ground` holds what all tests of a run share: a folder, stubs,
certificates. Everything is stopped and removed at the end; when a test failed the folder stays, and its path is printed.
"""

import importlib
import os
import re
from pathlib import Path

import grpc

import ground
from ground import ROOT, Program, await_true, run

BINARIES = Path(
    os.environ.get("PARLEY_INTEROP_BINARIES") or os.environ.get("PARLEY_TEST_BINARIES") or ROOT / ".build/debug")
MIB = 1 << 20


class Ground(ground.Ground):
    """What all tests of a run stand on: a folder, stubs, certificates, and the programs that were started."""

    name = "interop"

    def __init__(self):
        super().__init__()
        self.programs = []
        self.number = 0
        self._generate()
        self._certificates = None

    def _generate(self):
        """Python's stubs. The files move to another folder, since `grpc/` is the library's own name in Python."""
        protos = self.folder / "protos/judges"
        protos.mkdir(parents=True)
        for file in (ROOT / "proto/grpc/testing").glob("*.proto"):
            (protos / file.name).write_text(file.read_text().replace('"grpc/testing/', '"judges/'))
        self.generate(self.folder / "protos", [f"judges/{name}.proto" for name in ("empty", "messages", "test")])
        self.empty = importlib.import_module("judges.empty_pb2")
        self.messages = importlib.import_module("judges.messages_pb2")
        self.service = importlib.import_module("judges.test_pb2").DESCRIPTOR.services_by_name["TestService"]
        self.services = importlib.import_module("judges.test_pb2_grpc")

    @property
    def certificates(self):
        """An authority with a certificate for localhost and one for a client; and a stranger's authority with another client."""
        if self._certificates is None:
            self._certificates = Certificates(self.folder / "certificates")
        return self._certificates

    def start(self, name, command, environment=None):
        """A process whose output goes to a file of the folder."""
        self.number += 1
        program = Program(name, self.folder / f"{name}-{self.number}.log", command, environment)
        self.programs.append(program)
        return program

    def stop(self):
        for program in reversed(self.programs):
            program.stop()


class Certificates:
    """Files of certificates and keys, made by openssl for one run."""

    def __init__(self, folder):
        run([ROOT / "deploy/local/certificates.sh", folder])
        self.folder = folder
        self.ca, self.server, self.server_key = folder / "ca.pem", folder / "server.pem", folder / "server-key.pem"
        self.client, self.client_key = self._client(folder, self.ca, folder / "ca-key.pem", "client")
        stranger = folder / "stranger"
        run([ROOT / "deploy/local/certificates.sh", stranger])
        self.stranger_ca = stranger / "ca.pem"
        self.stranger, self.stranger_key = self._client(stranger, self.stranger_ca, stranger / "ca-key.pem", "stranger")

    def _client(self, folder, ca, ca_key, name):
        key, request, certificate = folder / f"{name}-key.pem", folder / f"{name}.csr", folder / f"{name}.pem"
        run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
             "-keyout", key, "-out", request])
        run(["openssl", "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2", "-sha256",
             "-out", certificate])
        return certificate, key


class Server:
    """One interop-server."""

    def __init__(self, *options, tls=False, mutual=False):
        self.ground = Ground.get()
        self.tls = tls
        command = [BINARIES / "interop-server", "--port", "0", *options]
        if tls:
            certificates = self.ground.certificates
            command += ["--tls", "--cert", certificates.server, "--key", certificates.server_key]
            if mutual:
                command += ["--client-ca", certificates.ca]
        self.program = self.ground.start("interop-server", command)
        found = await_true("interop-server listens", self._listens, 20)
        self.port = int(found.group(1))
        self.address = f"{'localhost' if tls else '127.0.0.1'}:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.address}"

    def _listens(self):
        if not self.program.runs:
            raise AssertionError(f"interop-server ended with {self.program.process.returncode}: {self.program.text()[-2000:]}")
        return re.search(r"^listening on \S+:(\d+)$", self.program.text(), re.MULTILINE)

    def channel(self, module=grpc, options=(), credentials=None, compression=None):
        """A channel with a connection of its own; `module` is grpc or grpc.aio."""
        options = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1), *options]
        if self.tls:
            credentials = credentials or grpc.ssl_channel_credentials(self.ground.certificates.ca.read_bytes())
            return module.secure_channel(self.address, credentials, options, compression)
        return module.insecure_channel(self.address, options, compression)

    def stub(self, channel):
        return self.ground.services.TestServiceStub(channel)

    def resident_bytes(self):
        """The memory that the process occupies now."""
        pages = int(Path(f"/proc/{self.program.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def connections(self):
        """How many connections the server has, by its own ends of them."""
        here, established = f":{self.port:04X}", "01"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(1 for row in rows if row[1].endswith(here) and row[3] == established)

    def end(self, seconds=15):
        """Asks it to end; the exit status."""
        self.program.terminate()
        return self.program.wait(seconds)

    def stop(self):
        self.program.stop()


class Case(ground.Case):
    """A test against the server that its class starts; `options` are the server's."""

    ground_type = Ground
    options = ()
    server = None

    @classmethod
    def setUpClass(cls):
        cls.ground = Ground.get()
        cls.m = cls.ground.messages
        cls.empty = cls.ground.empty.Empty
        cls.server = Server(*cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def stub(self, **how):
        channel = self.server.channel(**how)
        self.addCleanup(channel.close)
        return self.server.stub(channel)

    def refused(self, code, call, *arguments, **options):
        """The error of a call that has to end with `code`."""
        options.setdefault("timeout", 20)
        with self.assertRaises(grpc.RpcError) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        return caught.exception

    # MARK: Messages

    def simple(self, size=0, body=b"", **more):
        return self.m.SimpleRequest(response_size=size, payload=self.m.Payload(body=body), **more)

    def outputs(self, *sizes, interval=0, **more):
        """A request for responses of these sizes, each sent after `interval` microseconds."""
        wanted = [self.m.ResponseParameters(size=size, interval_us=interval) for size in sizes]
        return self.m.StreamingOutputCallRequest(response_parameters=wanted, **more)

    def input(self, size, **more):
        return self.m.StreamingInputCallRequest(payload=self.m.Payload(body=bytes(size)), **more)

    def status(self, code, message):
        return self.m.EchoStatus(code=code, message=message)

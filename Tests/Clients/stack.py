"""What the outside clients call: the real programs, on ports that the system chose, all gone at the end.

`Stack` is one set of processes: a sandbox, copies of parley-auth with a database of their own, an edge where one is wanted.
The PostgreSQL cluster is shared by all stacks of a run. Everything lives in one temporary folder, also the logs; when a test
failed it stays, and its path is printed.
"""

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import grpc

import ground
from ground import ROOT, Program, await_true, run

BINARIES = Path(os.environ.get("PARLEY_TEST_BINARIES") or ROOT / ".build/debug")
POSTGRES = Path(os.environ.get("PARLEY_TEST_POSTGRES_SCRIPT") or ROOT / "deploy/local/postgres.sh")
AUDIENCE = "clients.apps.googleusercontent.com"
ERROR_DOMAIN = "parley.broker.v1"
CALL = "/parley.broker.v1.TokenBrokerService/"


class Ground(ground.Ground):
    """What all stacks of a run stand on: a folder, certificates, stubs and a PostgreSQL cluster."""

    CLUSTER = "clients-postgres"
    name = "clients"

    def __init__(self):
        super().__init__()
        self.stacks = []
        self.environment = dict(os.environ, PARLEY_LOCAL=str(self.folder))
        self.tls = self.folder / "tls"
        run([ROOT / "deploy/local/certificates.sh", self.tls])
        self.ca = self.tls / "ca.pem"
        options = [f"parley/options/v1/{name}.proto" for name in ("access", "policy")]
        self.generate(ROOT / "proto", ["parley/broker/v1/broker.proto", *options])
        self.messages = importlib.import_module("parley.broker.v1.broker_pb2")
        self.services = importlib.import_module("parley.broker.v1.broker_pb2_grpc")
        self.start_postgres()
        settings = dict(re.findall(r"(\w+)='([^']*)'", self._postgres("env")))
        self.postgres_home = Path(settings["PARLEY_POSTGRES_HOME"])
        self.postgres_socket = self.postgres_home / "socket"
        self.postgres_port = (self.postgres_home / "port").read_text().strip()

    # MARK: PostgreSQL

    def _postgres(self, action, *more):
        return run([POSTGRES, action, "--dir", self.CLUSTER, *more], env=self.environment, seconds=120)

    def start_postgres(self):
        self._postgres("start", "--fast")

    def kill_postgres(self):
        """SIGKILL to the server and all its children, none of which gets to say anything."""
        pid = int((self.postgres_home / "data/postmaster.pid").read_text().split()[0])
        # Stopped first, so that it starts no more children meanwhile.
        os.kill(pid, signal.SIGSTOP)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for victim in [pid, *map(int, children)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)

    def database_url(self, role, database):
        return f"postgresql://{role}@/{database}?host={self.postgres_socket}&port={self.postgres_port}"

    def sql(self, statement, database="postgres"):
        return run(["psql", "-w", "-XAtqc", statement, self.database_url("postgres", database)]).strip()

    def stop(self):
        for stack in list(self.stacks):
            stack.stop()
        subprocess.run(
            [str(POSTGRES), "reset", "--dir", self.CLUSTER], env=self.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=60, check=False)


class Auth(Program):
    """One copy of parley-auth."""

    def __init__(self, stack, name, settings, waits=True):
        self.stack = stack
        self.port_file = stack.folder / f"{name}.port"
        self.port_file.unlink(missing_ok=True)
        settings = {"PARLEY_AUTH_PORT_FILE": str(self.port_file), **settings}
        super().__init__(
            name, stack.folder / f"{name}.log", [BINARIES / "parley-auth", "serve"], {"PATH": os.environ["PATH"], **settings})
        stack.programs.append(self)
        if waits:
            await_true(f"{name} listens", self._listens, 40)
            await_true(f"{name} is ready", self.is_ready, 40)

    def _listens(self):
        if self.port_file.exists():
            addresses = json.loads(self.port_file.read_text())
            self.ports = {name: int(address.rsplit(":", 1)[1]) for name, address in addresses.items()}
            return True
        if not self.runs:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}: {self.text()[-2000:]}")
        return False

    def listens(self):
        await_true(f"{self.name} listens", self._listens, 40)

    def admin(self, path):
        """Status and body of a page of the loopback listener."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['admin']}{path}", timeout=5) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def is_ready(self):
        return self.admin("/readyz")[0] == 200

    def metric(self, name, *labels):
        """The sum of a metric over the lines that carry all these labels."""
        lines = [line for line in self.admin("/metrics")[1].splitlines() if re.match(rf"{name}[{{ ]", line)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if all(label in line for label in labels))

    def records(self, **wanted):
        """The log's records in which these fields are so."""
        found = []
        for line in self.text().splitlines():
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if all(record.get(name) == value for name, value in wanted.items()):
                    found.append(record)
        return found

    def calls(self, method, status):
        """The access log's records of calls of a method that ended so."""
        return self.records(logger="parley.access", method=CALL + method, status=status)

    def channel(self, tls=False, own=False):
        """A grpcio channel; with `own` on a connection of its own."""
        options = [("grpc.enable_retries", 0)] + ([("grpc.use_local_subchannel_pool", 1)] if own else [])
        if tls:
            credentials = grpc.ssl_channel_credentials(self.stack.ground.ca.read_bytes())
            return grpc.secure_channel(f"localhost:{self.ports['tls']}", credentials, options)
        return grpc.insecure_channel(f"127.0.0.1:{self.ports['grpc']}", options)

    def broker(self, **how):
        channel = self.channel(**how)
        self.stack.channels.append(channel)
        return self.stack.ground.services.TokenBrokerServiceStub(channel)


class Stack:
    """A sandbox, copies of the service, and an edge where one is wanted."""

    def __init__(self, copies=1, edge=False, settings=None, start=True):
        self.ground = Ground.get()
        self.folder = Path(tempfile.mkdtemp(prefix="stack-", dir=self.ground.folder))
        self.programs = []
        self.channels = []
        self.edge = None
        self.copies = []
        self.count = copies
        self.settings = settings or {}
        self.addresses = 0
        self.ground.stacks.append(self)
        try:
            self._start_sandbox()
            self._create_database()
            if start:
                for number in range(1, copies + 1):
                    self.copies.append(self.start_auth(f"auth-{number}"))
            if edge:
                self._start_edge()
        except BaseException:
            self.stop()
            raise

    def _start_sandbox(self):
        port_file = self.folder / "sandbox.port"
        tls = self.ground.tls
        self.sandbox = Program("sandbox", self.folder / "sandbox.log", [
            BINARIES / "parley-sandbox", "serve", "--port", "0", "--plain-port", "0", "--port-file", port_file, "--certificate",
            tls / "server.pem", "--key", tls / "server-key.pem", "--state-directory", self.folder])
        self.programs.append(self.sandbox)
        await_true("the sandbox listens", lambda: port_file.exists() or not self.sandbox.runs, 40)
        ports = dict(line.split("=") for line in port_file.read_text().split())
        self.sandbox_url = f"https://localhost:{ports['tls']}"
        self.control_url = f"http://127.0.0.1:{ports['plain']}"

    def _create_database(self):
        self.database = "clients_" + uuid.uuid4().hex[:12]
        self.ground.sql(f"create database {self.database}")
        environment = {
            "PATH": os.environ["PATH"],
            "PARLEY_AUTH_DATABASE_ADMIN_URL": self.ground.database_url("postgres", self.database),
            "PARLEY_AUTH_DATABASE_OWNER_URL": self.ground.database_url("parley_auth_owner", self.database),
            "PARLEY_AUTH_DATABASE_URL": self.ground.database_url("parley_auth", self.database),
        }
        run([BINARIES / "parley-auth", "migrate", "--bootstrap"], env=environment)

    def auth_settings(self):
        tls = self.ground.tls
        return {
            "PARLEY_AUTH_LISTEN": "127.0.0.1:0",
            "PARLEY_AUTH_TLS_LISTEN": "127.0.0.1:0",
            "PARLEY_AUTH_TLS_CERTIFICATE": f"{tls}/server.pem",
            "PARLEY_AUTH_TLS_KEY": f"{tls}/server-key.pem",
            "PARLEY_AUTH_ADMIN_LISTEN": "127.0.0.1:0",
            "PARLEY_AUTH_DATABASE_URL": self.ground.database_url("parley_auth", self.database),
            "PARLEY_AUTH_KEY_ENCRYPTION_KEY": "a2V5LWVuY3J5cHRpb24ta2V5LW9mLXRoZS10ZXN0cyE=",
            "PARLEY_AUTH_GOOGLE_SA_JSON_FILE": f"{self.folder}/service-account.json",
            "PARLEY_AUTH_OIDC_CLIENT_IDS": AUDIENCE,
            "PARLEY_AUTH_JWKS_URL": f"{self.sandbox_url}/oauth2/v3/certs",
            "PARLEY_AUTH_TOKEN_URI": f"{self.sandbox_url}/token",
            "PARLEY_AUTH_OUTBOUND_CA_FILE": str(self.ground.ca),
            "PARLEY_AUTH_TRUSTED_PROXIES": "127.0.0.0/8",
            "PARLEY_AUTH_COPIES": str(self.count),
        }

    def start_auth(self, name, waits=True, **settings):
        """One more copy; `settings` are environment variables."""
        return Auth(self, name, {**self.auth_settings(), **self.settings, **settings}, waits)

    def _edge_command(self, command):
        script = f". deploy/local/processes.sh; . deploy/local/edge.sh; {command}"
        # The certificates and the record of the process are looked for in the same folder.
        environment = dict(os.environ, PARLEY_LOCAL=str(self.folder))
        run(["bash", "-c", script], cwd=ROOT, env=environment)

    def _start_edge(self):
        (self.folder / "tls").symlink_to(self.ground.tls)
        ports = " ".join(str(copy.ports["grpc"]) for copy in self.copies)
        self.edge = self.folder / "edge"
        self._edge_command(f"edge_start edge 0 0 {ports}")
        found = dict(line.split("=") for line in (self.edge / "ports").read_text().split())
        self.http = f"http://127.0.0.1:{found['http']}"
        self.https = f"https://localhost:{found['https']}"
        await_true("the edge reaches the service", lambda: self.curl(f"{self.http}/healthz")[0] == 200)

    def stop(self):
        """Stops everything, the newest first."""
        for channel in self.channels:
            channel.close()
        self.channels = []
        if self.edge:
            self._edge_command("process_stop edge")
            self.edge = None
        for program in reversed(self.programs):
            program.stop()
        if self in self.ground.stacks:
            self.ground.stacks.remove(self)

    # MARK: The sandbox

    def control(self, path, body=None, method=None):
        """Asks the sandbox's control routes, which speak HTTP/2 only."""
        command = ["curl", "-sS", "--max-time", "20", "--http2-prior-knowledge", "-X", method or ("POST" if body else "GET")]
        if body is not None:
            command += ["--data-binary", json.dumps(body)]
        return json.loads(run(command + [self.control_url + path]))

    def id_tokens(self, wishes):
        """ID tokens, one for each wish; all by one curl, over TLS: 7.88 cannot use a connection twice with prior knowledge."""
        parts = []
        for wish in wishes:
            body = json.dumps({"aud": AUDIENCE, "sub": uuid.uuid4().hex, **wish}).replace("\\", "\\\\").replace('"', '\\"')
            parts.append("\n".join([
                "silent", f'cacert = "{self.ground.ca}"', f'url = "{self.sandbox_url}/sandbox/google/id-token"',
                f'data-binary = "{body}"', 'write-out = "\\n"']))
        answers = run(["curl", "--config", "-"], input="\nnext\n".join(parts))
        return [json.loads(line)["token"] for line in answers.split("\n") if line.strip()]

    def id_token(self, **wish):
        return self.id_tokens([wish])[0]

    def fault(self, path, **how):
        self.control("/sandbox/faults", {"path": path, **how})

    def end_faults(self):
        self.control("/sandbox/faults", method="DELETE")

    def served(self, path):
        """How many requests for a path the sandbox has answered."""
        return self.control("/sandbox/counters")["paths"].get(path, {}).get("requests", 0)

    # MARK: Calls

    def address(self):
        """A client address that nobody else uses."""
        self.addresses += 1
        return f"198.18.{self.addresses // 250}.{self.addresses % 250 + 1}"

    def metadata(self, token, address=None):
        return [("authorization", f"Bearer {token}"), ("x-forwarded-for", address or self.address())]

    def curl(self, url, *options, token=None):
        """Status, headers by their lower-case names, body, and HTTP version of a GET."""
        command = ["curl", "-sS", "--max-time", "20", "--cacert", self.ground.ca, "-D", "-", *options]
        if token:
            command += ["-H", f"Authorization: Bearer {token}"]
        head, _, body = run(command + [url]).replace("\r\n", "\n").partition("\n\n")
        status, *fields = head.split("\n")
        headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        return int(status.split()[1]), headers, body, status.split()[0]


class Case(ground.Case):
    """A test of the programs."""

    ground_type = Ground

    def status_of(self, call, *arguments, **options):
        """The error that a call ends with."""
        with self.assertRaises(grpc.RpcError) as caught:
            call(*arguments, **options)
        return caught.exception

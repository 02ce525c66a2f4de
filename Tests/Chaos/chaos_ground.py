"""What a run stands on: PostgreSQL, the sandbox, two services of two copies each with a supervisor, all the real programs.

PostgreSQL keeps its data on a small disk of its own (a tmpfs, gone with the run), and so do the services' logs, so that either
can be filled. It is durable: nothing here may depend on luck. The services reach it over TCP with TLS and a verified name.
"""

import csv
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from network import BASE, CLIENTS, LINKS, Network
from stack import AUDIENCE, BINARIES, ROOT, Program, await_true, run

SCRIPT = ROOT / "deploy/local/postgres.sh"
LEDGER, AUTH = "ledger", "auth"
PROGRAMS = {LEDGER: "ledger-service", AUTH: "parley-auth"}
COPIES, LOOPS, POOL = 2, 2, 3


class Ground:
    def __init__(self, folder):
        self.folder = folder
        self.disk, self.logs = folder / "disk", folder / "logs"
        for mount, size in ((self.disk, "640m"), (self.logs, "256m")):
            mount.mkdir()
            run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "chaos", str(mount)])
        self.tls = folder / "tls"
        run([ROOT / "deploy/local/certificates.sh", self.tls])
        self._generate()
        self.network = Network()
        self.postgres = PostgreSQL(self)
        self._start_sandbox()
        for service in PROGRAMS:
            self._migrate(service)
        self.copies = [
            Copy(self, service, number, port) for port, (service, number) in
            enumerate(((service, number) for service in PROGRAMS for number in range(1, COPIES + 1)), start=7001)]
        self.supervisor = Supervisor(self.copies)
        for copy in self.copies:
            await_true(f"{copy.name} is ready", copy.is_ready, 60)
        self.tokens = self.id_tokens(24, lifetime=4 * 3600)

    def _generate(self):
        from grpc_tools import protoc

        stubs = self.folder / "stubs"
        stubs.mkdir()
        files = [f"parley/{name}.proto" for name in ("broker/v1/broker", "options/v1/access", "testing/v1/ledger")]
        bundled = Path(importlib.import_module("grpc_tools").__file__).parent / "_proto"
        flags = [f"-I{ROOT / 'proto'}", f"-I{bundled}", f"--python_out={stubs}", f"--grpc_python_out={stubs}"]
        if protoc.main(["protoc", *flags, *files]):
            raise AssertionError("the Python stubs could not be generated")
        sys.path.insert(0, str(stubs))
        self.api = {
            AUTH: tuple(importlib.import_module(f"parley.broker.v1.broker_pb2{part}") for part in ("", "_grpc")),
            LEDGER: tuple(importlib.import_module(f"parley.testing.v1.ledger_pb2{part}") for part in ("", "_grpc")),
        }

    def _start_sandbox(self):
        """It is the services' world, so it is on their side; only what happens between us and them breaks."""
        port_file = self.folder / "sandbox.port"
        self.sandbox = Program("sandbox", self.folder / "sandbox.log", [
            *self.network.inside(), BINARIES / "parley-sandbox", "serve", "--port", "0", "--port-file", port_file,
            "--certificate", self.tls / "server.pem", "--key", self.tls / "server-key.pem", "--state-directory", self.folder])
        await_true("the sandbox listens", port_file.exists, 60)
        port = dict(line.split("=") for line in port_file.read_text().split())["tls"]
        self.sandbox_url = f"https://localhost:{port}"

    def id_tokens(self, count, lifetime):
        """ID tokens of so many people."""
        command = [*self.network.inside(), "curl", "-sS", "--max-time", "20", "--cacert", self.tls / "ca.pem"]
        tokens = []
        for number in range(count):
            wish = json.dumps({"aud": AUDIENCE, "sub": f"person-{number}", "expiresIn": lifetime})
            answer = run([*command, "--data-binary", wish, f"{self.sandbox_url}/sandbox/google/id-token"])
            tokens.append(json.loads(answer)["token"])
        return tokens

    def _migrate(self, service):
        role, prefix = f"parley_{service}", f"PARLEY_{service.upper()}_DATABASE_"
        url = self.postgres.url
        run([*self.network.inside(), BINARIES / PROGRAMS[service], "migrate", "--bootstrap"], env={
            "PATH": os.environ["PATH"], f"{prefix}ADMIN_URL": url("postgres", self.postgres.password),
            f"{prefix}OWNER_URL": url(f"{role}_owner", "owner"), f"{prefix}URL": url(role, "serving")})

    def settings(self, service, port):
        """The environment of a copy."""
        address = LINKS[CLIENTS][1]
        values = {
            "LISTEN": f"{address}:{port}", "ADMIN_LISTEN": f"127.0.0.1:{port + 100}",
            "DATABASE_URL": self.postgres.url(f"parley_{service}", "serving"), "DATABASE_POOL": POOL, "LOOPS": LOOPS,
            "COPIES": COPIES, "START_TIMEOUT": "5s", "DRAIN_TIMEOUT": "10s",
        }
        if service == AUTH:
            values |= {
                "GOOGLE_SA_JSON_FILE": self.folder / "service-account.json", "OIDC_CLIENT_IDS": AUDIENCE,
                "KEY_ENCRYPTION_KEY": "a2V5LWVuY3J5cHRpb24ta2V5LW9mLXRoZS10ZXN0cyE=",
                "JWKS_URL": f"{self.sandbox_url}/oauth2/v3/certs", "TOKEN_URI": f"{self.sandbox_url}/token",
                "OUTBOUND_CA_FILE": self.tls / "ca.pem", "RATE_PER_MIN": 1_000_000, "RATE_BURST": 1_000_000,
                "IP_RATE_PER_MIN": 1_000_000, "IP_BURST": 1_000_000, "ISSUES_PER_DAY": 0,
            }
        prefix = f"PARLEY_{service.upper()}_"
        return {"PATH": os.environ["PATH"], **{prefix + key: str(value) for key, value in values.items()}}

    def of(self, service):
        return [copy for copy in self.copies if copy.service == service]

    def judge(self, ledger, before=""):
        """What the database holds, beside what the clients know. `before` is SQL that is rolled back afterwards."""
        entries = self.postgres.table("select id, key, debit, credit, amount, memo from ledger.entry", before)
        balances = self.postgres.table("select name, balance from ledger.account", before)
        issued = self.postgres.table("select request_id from auth.token_issuance where outcome = 'issued'", before)
        rows = [(name, key, debit, credit, int(amount), memo) for name, key, debit, credit, amount, memo in entries]
        return (ledger.judge_entries(rows, {name: int(balance) for name, balance in balances}),
                ledger.judge_exchanges([request for request, in issued]))

    def close(self):
        """Ends everything, the newest first, each by its id."""
        for end in (lambda: self.supervisor.close(), lambda: self.sandbox.stop(), lambda: self.postgres.close(),
                    lambda: self.network.close()):
            try:
                end()
            except Exception as error:  # what was not started cannot be ended; the rest must be
                print(f"chaos: while ending: {error}", file=sys.stderr)


class PostgreSQL:
    """The private cluster, over TLS to the services and over its socket to us."""

    def __init__(self, ground):
        self.ground = ground
        self.environment = dict(os.environ, PARLEY_LOCAL=str(ground.disk))
        self.start()
        found = dict(re.findall(r"(\w+)='([^']*)'", self._script("env")))
        self.home = Path(found["PARLEY_POSTGRES_HOME"])
        self.port = (self.home / "port").read_text().strip()
        self.password = (self.home / "password").read_text().strip()
        self._accept_services()

    def _script(self, action):
        return run([SCRIPT, action], env=self.environment, seconds=120)

    def start(self):
        self._script("start")

    def stop(self):
        self._script("stop")

    def close(self):
        self._script("reset")

    def _accept_services(self):
        data = self.home / "data"
        owner = data.stat()
        for name in ("server.pem", "server-key.pem"):
            (data / name).write_bytes((self.ground.tls / name).read_bytes())
            os.chmod(data / name, 0o600)
            if os.geteuid() == 0:
                os.chown(data / name, owner.st_uid, owner.st_gid)
        with open(data / "pg_hba.conf", "a") as rules:
            rules.write("hostssl all all 10.77.2.0/24 scram-sha-256\n")
        for setting, value in {
            "listen_addresses": f"127.0.0.1,{LINKS[BASE][0]}", "ssl": "on", "ssl_cert_file": "server.pem",
            "ssl_key_file": "server-key.pem", "max_wal_size": "96MB", "min_wal_size": "32MB", "deadlock_timeout": "200ms",
        }.items():
            self.sql(f"alter system set {setting} = '{value}'", database="postgres")
        self.sql("create database chaos", database="postgres")
        self.stop()
        self.start()

    def url(self, role, password):
        """How the services reach it. The certificate is for `localhost`; the address is on the other side of the link."""
        return (f"postgresql://{role}:{password}@localhost:{self.port}/chaos?hostaddr={LINKS[BASE][0]}&sslmode=verify-full"
                f"&sslrootcert={self.ground.tls}/ca.pem")

    def sql(self, statement, database="chaos", seconds=60):
        """As superuser, over the socket, which no fault of the network touches."""
        url = f"postgresql://postgres@/{database}?host={self.home}/socket&port={self.port}"
        return run(["psql", "-w", "-XAtq", "-v", "ON_ERROR_STOP=1", url, "-c", statement], seconds=seconds)

    def table(self, query, before=""):
        text = self.sql(f"begin; {before} copy ({query}) to stdout with (format csv); rollback;")
        return list(csv.reader(io.StringIO(text)))

    def processes(self):
        """The server and its children, the server first."""
        server = int((self.home / "data/postmaster.pid").read_text().split()[0])
        return [server, *map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())]

    def runs(self):
        try:
            return os.readlink(f"/proc/{self.processes()[0]}/cwd") == str(self.home / "data")
        except (OSError, IndexError, ValueError):
            return False

    def kill(self):
        """SIGKILL to the server and all its children, none of which gets to say anything."""
        server = self.processes()[0]
        os.kill(server, signal.SIGSTOP)  # so that it starts no more children meanwhile
        self.signal(signal.SIGKILL)

    def signal(self, number):
        for process in self.processes():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass


class Copy:
    """One copy of a service at an address that it keeps over its restarts."""

    def __init__(self, ground, service, number, port):
        self.ground, self.service, self.name, self.port = ground, service, f"{service}-{number}", port
        self.address = f"{LINKS[CLIENTS][1]}:{port}"
        self.log = ground.logs / f"{self.name}.log"
        self.extra = {}
        self.is_wanted = True
        self.starts = 0
        self.ends = []  # exit statuses
        self.start()

    def start(self):
        environment = {**self.ground.settings(self.service, self.port), **self.extra}
        words = [f"{name}={value}" for name, value in environment.items()]
        command = [*self.ground.network.inside(), "env", "-i", *words, BINARIES / PROGRAMS[self.service], "serve"]
        self.program = Program(self.name, self.log, command)
        self.starts += 1

    @property
    def runs(self):
        return self.program.runs

    def signal(self, number):
        self.program.process.send_signal(number)

    def page(self, path):
        """Status and body of a page of the loopback listener; status 0 when nobody answers."""
        done = subprocess.run(
            [*self.ground.network.inside(), "curl", "-s", "--max-time", "3", "-w", "\n%{http_code}",
             f"http://127.0.0.1:{self.port + 100}{path}"], stdout=subprocess.PIPE, text=True)
        body, _, status = done.stdout.rpartition("\n")
        return int(status or 0), body

    def is_ready(self):
        return self.page("/readyz")[0] == 200

    def running_calls(self):
        """Calls begun and not ended, as the copy itself counts them."""
        body = self.page("/metrics")[1]

        def total(name):
            return sum(float(line.rsplit(" ", 1)[1]) for line in body.splitlines() if re.match(rf"{name}[{{ ]", line))

        return total("grpc_server_call_started_total") - total("grpc_server_call_duration_seconds_count")

    def size(self):
        """Open descriptors, and resident memory in MiB; none of either when it is not running."""
        try:
            resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.program.pid}/status").read_text())
            return len(os.listdir(f"/proc/{self.program.pid}/fd")), int(resident[1]) / 1024 if resident else 0
        except OSError:
            return 0, 0


class Supervisor(threading.Thread):
    """Starts again what has ended, after the pause that systemd would take."""

    PAUSE = 0.3

    def __init__(self, copies):
        super().__init__(daemon=True)
        self.copies = copies
        self._ends = threading.Event()
        self.start()

    def run(self):
        while not self._ends.wait(self.PAUSE):
            for copy in self.copies:
                if copy.is_wanted and not copy.runs:
                    copy.ends.append(copy.program.process.returncode)
                    copy.start()

    def restart(self, copy):
        """Lets a copy go with grace and waits until the next one of it is ready."""
        before = copy.starts
        copy.program.terminate()
        await_true(f"{copy.name} is started again", lambda: copy.starts > before and copy.is_ready(), 40)

    def close(self):
        self._ends.set()
        self.join()
        for copy in self.copies:
            copy.program.stop()

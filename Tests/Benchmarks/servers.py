"""The servers that are measured: built, started on one core, stopped by their id."""

import glob
import os
import signal
import subprocess
import tempfile
import time

from loads import LOAD_CORE, SERVER_CORE, on_core

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LOCAL = os.path.join(TOP, ".local")
WORK = os.path.join(LOCAL, "bench")
TLS = os.path.join(LOCAL, "tls")
RELEASE = [os.environ.get("SWIFT", "swift"), "build", "-c", "release", "--static-swift-stdlib"]


class Server:
    """A process that listens on a port of its own choosing and says which in a file."""

    grpc = True
    # What every call carries beside what gRPC needs.
    metadata: tuple[tuple[str, str], ...] = ()
    authority = os.path.join(TLS, "ca.pem")

    def __init__(self, name: str, command: list[str], *, tls: bool = False, core: str | None = SERVER_CORE, under=(),
                 environment: dict | None = None, log: str | None = None):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="parley-bench.", dir="/var/tmp")
        port_file = os.path.join(self.folder, "port")
        arguments = [port_file if part == "{port_file}" else part for part in command]
        with open(log or os.path.join(WORK, f"{name}.log"), "wb") as output:
            self.process = subprocess.Popen([*on_core(core), *under, *arguments], stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **(environment or {})})
        self.pid = self.process.pid
        deadline = time.monotonic() + 60
        self.port = 0
        while not self.port:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise SystemExit(f"bench: {name} did not start; see {WORK}/{name}.log")
            try:
                with open(port_file) as file:
                    # One number, or NAME=NUMBER lines of which the wanted one is named.
                    lines = dict(line.strip().rpartition("=")[::2] for line in file if line.strip())
                    self.port = int(lines.get("tls" if tls else "h2c") or lines.get("") or 0)
            except (FileNotFoundError, ValueError):
                pass
            time.sleep(0.01)
        self.url = f"https://localhost:{self.port}" if tls else f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                print(f"bench: {self.name} had to be killed: it did not end within 60 s of SIGTERM", flush=True)
        subprocess.run(["rm", "-rf", self.folder], check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def build_c(name: str, folder: str, packages: list[str], flags: list[str] = []) -> str:
    """A program of plain C from all files of one folder beside this one."""
    binary = os.path.join(WORK, name)
    sources = sorted(glob.glob(os.path.join(HERE, folder, "*.c")))
    found = []
    if packages:
        found = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", *flags, "-o", binary, *sources, *found], check=True)
    return binary


def build_c_floor() -> str:
    return build_c("cfloor", "CFloor", ["libnghttp2", "libprotobuf-c"])


def build_stream_load() -> str:
    return build_c("streamload", "StreamLoad", ["libnghttp2"])


def build_unary_load() -> str:
    return build_c("unaryload", "UnaryLoad", ["libnghttp2"])


def build_allocation_counter() -> str:
    return build_c("allocations.so", "AllocationCounter", [], ["-shared", "-fPIC"])


def build_grpc_cpp() -> str | None:
    """None where it cannot be built: its packages are no dependency of ours."""
    if subprocess.run([os.path.join(HERE, "GRPCCpp/build.sh"), WORK], check=False).returncode:
        print("bench: the gRPC C++ server cannot be built here (libgrpc++-dev); its rows are missing", flush=True)
        return None
    return os.path.join(WORK, "grpc-cpp-server")


def build_release(product: str) -> str:
    print(f"bench: building {product} in release", flush=True)
    subprocess.run([*RELEASE, "--scratch-path", ".build-release", "--product", product], cwd=TOP, check=True)
    return os.path.join(TOP, ".build-release/release", product)


def build_ours() -> str:
    """The benchmark server in release, or the program that PARLEY_BENCH_SERVER names."""
    if named := os.environ.get("PARLEY_BENCH_SERVER"):
        return named
    return build_release("bench-server")


def build_sessions() -> str:
    return build_release("bench-session-server")


def sessions(binary: str, **options) -> Server:
    """Our echo for people with sessions; every call shows the same access token."""
    token = os.path.join(WORK, f"session-token.{os.getpid()}")
    server = Server("parley-session", [binary, "--port-file", "{port_file}", "--token-file", token], **options)
    # Written before the port.
    with open(token) as file:
        server.metadata = (("authorization", f"Bearer {file.read().strip()}"),)
    os.remove(token)
    return server


def clean_build() -> tuple[float, float]:
    """A release build of one service from nothing (no scratch folder, no module cache of ours): the seconds that it took and the
    megabytes of its stripped binary."""
    scratch = os.path.join(TOP, ".build-bench")
    subprocess.run(["rm", "-rf", scratch], check=True)
    began = time.monotonic()
    subprocess.run([*RELEASE, "--scratch-path", scratch, "--product", "parley-auth"], cwd=TOP, check=True,
                   stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    stripped = os.path.join(WORK, "parley-auth.stripped")
    subprocess.run(["strip", "-o", stripped, os.path.join(scratch, "release/parley-auth")], check=True)
    megabytes = os.path.getsize(stripped) / 1e6
    subprocess.run(["rm", "-rf", scratch, stripped], check=True)
    return seconds, megabytes


def c_floor(binary: str, **options) -> Server:
    return Server("cfloor", [binary, "--port", "0", "--port-file", "{port_file}"], **options)


def grpc_cpp(binary: str, *, tls: bool = False, **options) -> Server:
    command = [binary, "--port", "0", "--port-file", "{port_file}"]
    return Server("grpc-cpp" + ("-tls" if tls else ""), command + (identity() if tls else []), tls=tls, **options)


def identity() -> list[str]:
    return ["--tls-certificate", os.path.join(TLS, "server.pem"), "--tls-key", os.path.join(TLS, "server-key.pem")]


def ours(binary: str, *, tls: bool = False, database: str | None = None, loops: int = 1, **options) -> Server:
    command = [binary, "--port", "0", "--port-file", "{port_file}", "--loops", str(loops)]
    name = "bench-server"
    if tls:
        name += "-tls"
        command += identity()
    if database:
        name += "-database"
        command += ["--database", database]
    if loops > 1:
        name += f"-{loops}-loops"
    return Server(name, command, tls=tls, **options)


def nghttpd(path: str, content: bytes) -> Server:
    """nghttp2's own server answering with a file of the same size: HTTP/2 alone, no gRPC, no messages. (Its --echo-upload goes
    through a temporary file and costs 200 us.) nghttpd takes no port 0."""
    command = ('mkdir -p "$2"; printf %s "$4" >"$2/$3"\n'
               'port=$("$0" -c "import socket; s = socket.socket(); s.bind((\'127.0.0.1\', 0)); print(s.getsockname()[1])")\n'
               'echo "$port" >"$1"\nexec nghttpd --no-tls -a 127.0.0.1 -m 1024 -d "$5" "$port"')
    folder = os.path.join(WORK, "files", os.path.dirname(path).lstrip("/"))
    server = Server("nghttpd", ["sh", "-c", command, os.environ.get("PYTHON", "python3"), "{port_file}", folder,
                                os.path.basename(path), content.decode(), os.path.join(WORK, "files")])
    server.grpc = False
    return server


class Database:
    """A private cluster with a table of 10,000 rows, on one core or (None) on all; or a `durable` one on all, as in production."""

    def __init__(self, durable: bool = False, core: str | None = LOAD_CORE):
        self.durable = durable
        self.run("start")
        said = subprocess.run(["deploy/local/postgres.sh", "env", "--dir", "bench-durable" if durable else "bench-postgres"], cwd=TOP, check=True, capture_output=True, text=True)
        values = subprocess.run(["bash", "-c", said.stdout + "\nprintf '%s\\n' \"$PGHOST\" \"$PGPORT\" \"$PARLEY_POSTGRES_URL\""],
                                check=True, capture_output=True, text=True).stdout.splitlines()
        self.environment = {"PGHOST": values[0], "PGPORT": values[1], "PGUSER": "postgres", "PGDATABASE": "postgres"}
        self.url = values[2]
        if durable:
            return
        if core:
            folder = os.path.dirname(values[0])
            with open(os.path.join(folder, "data/postmaster.pid")) as file:
                postmaster = file.readline().strip()
            # Children inherit it: the sessions that are opened from now on.
            subprocess.run(["taskset", "-a", "-p", "-c", core, postmaster], check=True, stdout=subprocess.DEVNULL)
        self.sql("drop table if exists item; create table item (id bigint primary key, text text not null);"
                 "insert into item select n, lpad(n::text, 62, 'x') from generate_series(1, 10000) n; vacuum analyze item")

    def run(self, action: str) -> None:
        name = "bench-durable" if self.durable else "bench-postgres"
        subprocess.run(["deploy/local/postgres.sh", action, "--dir", name, *([] if self.durable else ["--fast"])], cwd=TOP, check=True)

    def sql(self, text: str) -> None:
        for statement in text.split(";"):
            subprocess.run(["psql", "-w", "-qX", "-v", "ON_ERROR_STOP=1", "-c", statement], check=True,
                           env={**os.environ, **self.environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("reset")

"""One measured run of h2load or pgbench against one server: what it asked, what came back, what the server's CPU did."""

import json
import os
import random
import re
import statistics
import subprocess
import tempfile
from dataclasses import dataclass

SERVER_CORE, LOAD_CORE = "0", "1"
TEXT = b"x" * 62
MESSAGE = b"\x0a" + bytes([len(TEXT)]) + TEXT  # 64 bytes: field 1, a string of 62
ROW = 4242
ROW_MESSAGE = b"\x0a\x04" + str(ROW).encode()
ECHO = "/parley.testing.v1.EchoService/Echo"
READ = "/parley.testing.v1.EchoService/Read"
UPLOAD = "/parley.testing.v1.EchoService/Upload"
BUSY = "/parley.testing.v1.EchoService/Busy"
# What a gRPC client sends with each call; the deadline makes a server arm and disarm a timer.
HEADERS = ("content-type: application/grpc", "te: trailers", "grpc-timeout: 5S")


class Refused(Exception):
    """A run whose answers were not what was asked for. Its numbers mean nothing."""


@dataclass
class Run:
    requests: int
    seconds: float
    cpu_us: float  # of the server, per request
    p50_us: float | None = None

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process, in nanoseconds, from the scheduler's own count."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            pass
    return total


def on_core(core: str | None, *command: str) -> list[str]:
    return ["taskset", "-c", core, *command] if core else list(command)


def h2load(server, path: str, message: bytes, reply_bytes: int, *, requests: int, connections: int, streams: int,
           latencies: bool = False, core: str | None = LOAD_CORE) -> Run:
    """Asks `requests` times. Every answer must be a 200, and all of them together must have exactly the bytes expected, which
    an answer of trailers alone would not have."""
    with tempfile.TemporaryDirectory() as folder:
        body = os.path.join(folder, "body")
        with open(body, "wb") as file:
            file.write(framed(message) if server.grpc else message)
        command = ["h2load", "-t", "1", "-n", str(requests), "-c", str(connections), "-m", str(streams), "-d", body]
        for header in (*HEADERS, *(f"{name}: {value}" for name, value in server.metadata)):
            command += ["-H", header]
        log = os.path.join(folder, "latencies")
        if latencies:
            command += ["--log-file", log]
        before = cpu_ns(server.pid)
        result = subprocess.run(on_core(core, *command, server.url + path), capture_output=True, text=True, timeout=600)
        cpu = cpu_ns(server.pid) - before
        said = result.stdout + result.stderr
        finished = re.search(r"finished in ([\d.]+)(us|ms|s|m)", said)
        succeeded = re.search(r"(\d+) succeeded, (\d+) failed", said)
        codes = re.search(r"status codes: (\d+) 2xx", said)
        data = re.search(r"\((\d+)\) data", said)
        if not (finished and succeeded and codes and data):
            raise Refused(f"h2load said nothing of use:\n{said}")
        if int(succeeded[1]) != requests or int(codes[1]) != requests:
            raise Refused(f"{requests - int(succeeded[1])} of {requests} calls of {server.name} failed:\n{said}")
        if int(data[1]) != requests * reply_bytes:
            raise Refused(f"{server.name} answered {int(data[1])} bytes where {requests * reply_bytes} were due")
        seconds = float(finished[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[finished[2]]
        p50 = None
        if latencies:
            with open(log) as file:
                p50 = statistics.median(int(line.split("\t")[2]) for line in file)
        return Run(requests, seconds, cpu / requests / 1000, p50)


def unary_load(program: str, server, path: str, message: bytes, *, requests: int, reply: bytes | None = None, connections: int = 10,
               streams: int = 100, core: str | None = LOAD_CORE) -> Run:
    """Asks like ``h2load``, but with every request header in the table of header compression, as the gRPC clients of Go and Java have
    it. The load client compares every byte of the replies (without one, echoes), and their status."""
    with tempfile.NamedTemporaryFile() as body, tempfile.NamedTemporaryFile() as due:
        body.write(message)
        body.flush()
        due.write(message if reply is None else reply)
        due.flush()
        command = [program, "--port", str(server.port), "--path", path, "--body", body.name, "--reply", due.name, "--calls",
                   str(requests), "--connections", str(connections), "--streams", str(streams)]
        for name, value in server.metadata:
            command += ["--header", f"{name}: {value}"]
        before = cpu_ns(server.pid)
        result = subprocess.run(on_core(core, *command), capture_output=True, text=True, timeout=600)
        cpu = cpu_ns(server.pid) - before
    if result.returncode:
        raise Refused(f"{path} of {server.name}: {result.stdout}{result.stderr}")
    said = json.loads(result.stdout)
    if said["calls"] != requests:
        raise Refused(f"{path} of {server.name}: {said['calls']} calls")
    return Run(requests, said["seconds"], cpu / requests / 1000)


def call(server, path: str, *messages: bytes):
    """What grpcio, an independent client, gets for one message, or for several on one connection."""
    import grpc

    if server.url.startswith("https:"):
        with open(server.authority, "rb") as file:
            channel = grpc.secure_channel(f"localhost:{server.port}", grpc.ssl_channel_credentials(file.read()))
    else:
        channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    with channel:
        ask = channel.unary_unary(path)
        answers = [ask(message, timeout=10, metadata=server.metadata) for message in messages]
    return answers if len(messages) > 1 else answers[0]


def check_replies(server, path: str, message: bytes, expected: bytes) -> None:
    """Compares bytes as an independent client (grpcio) gets them: 32 calls that differ from each other on echo, on a read the
    row itself."""
    if not server.grpc:
        return
    sent, due = [message] * 32, [expected] * 32
    if path == ECHO:
        sent = due = [b"\x0a\x3e" + f"{number:062d}".encode() for number in range(32)]
    for got, wanted in zip(call(server, path, *sent), due):
        if got != wanted:
            raise Refused(f"{server.name}{path} answered {got!r} where {wanted!r} was due")


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def with_body(size: int) -> bytes:
    """A message with so many bytes in its field 2, different each time."""
    return b"\x12" + varint(size) + random.randbytes(size)


def check_bodies(server, size: int) -> None:
    """Compares echoed bodies byte by byte, and what an upload is answered with."""
    for _ in range(4):
        message = with_body(size)
        for path, due in ((ECHO, message), (UPLOAD, b"\x18" + varint(size))):
            if call(server, path, message) != due:
                raise Refused(f"{server.name}{path} did not answer {size} bytes as is due")


@dataclass
class StreamRun:
    messages: int
    frames: int
    seconds: float
    cpu_s: float  # of the server
    p50_us: float

    @property
    def cpu_us(self) -> float:
        """Server CPU per message."""
        return self.cpu_s / self.messages * 1e6

    @property
    def per_core_second(self) -> float:
        """Millions of messages that a second of the server's CPU moves."""
        return self.messages / self.cpu_s / 1e6


def stream_load(program: str, server, kind: str, *, messages: int, connections: int = 10, streams: int = 10) -> StreamRun:
    """One stream after another on each of so many at once; the load client compares every byte."""
    command = [program, "--port", str(server.port), "--kind", kind, "--messages", str(messages), "--connections", str(connections),
               "--streams", str(streams)]
    before = cpu_ns(server.pid)
    result = subprocess.run(on_core(LOAD_CORE, *command), capture_output=True, text=True, timeout=600)
    cpu = cpu_ns(server.pid) - before
    if result.returncode:
        raise Refused(f"{kind} of {server.name}: {result.stdout}{result.stderr}")
    said = json.loads(result.stdout)
    if said["messages"] != messages * connections * streams:
        raise Refused(f"{kind} of {server.name}: {said['messages']} messages")
    return StreamRun(said["messages"], said["frames"], said["seconds"], cpu / 1e9, said["p50_us"])


class Cores:
    """How busy each core of the machine was while something ran, whoever it was: in percent, and in seconds of both together."""

    def __enter__(self):
        self.began = self.read()
        return self

    def __exit__(self, *_):
        self.percent, self.seconds = [], 0.0
        for (busy, total), (busy_before, total_before) in zip(self.read(), self.began):
            self.percent.append(round(100 * (busy - busy_before) / max(1, total - total_before)))
            self.seconds += (busy - busy_before) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def read() -> list[tuple[int, int]]:
        found = []
        with open("/proc/stat") as file:
            for line in file:
                if re.match(r"cpu\d", line):
                    # user, nice, system, idle, iowait, irq, softirq, steal; what guests used is in user already.
                    times = [int(field) for field in line.split()[1:9]]
                    found.append((sum(times) - times[3] - times[4], sum(times)))
        return found


def pgbench(binary: str, environment: dict, script: str, *, seconds: int, core: str | None = SERVER_CORE) -> float:
    """Queries per second of pgbench in pipeline mode: 8 clients, 8 queries deep."""
    result = subprocess.run(
        on_core(core, binary, "-n", "-M", "prepared", "-c", "8", "-j", "1", "-T", str(seconds), "-f", script),
        capture_output=True, text=True, env={**os.environ, **environment}, timeout=seconds + 60)
    found = re.search(r"tps = ([\d.]+)", result.stdout)
    if result.returncode or not found or "number of failed transactions: 0 " not in result.stdout:
        raise Refused(f"pgbench failed:\n{result.stdout}{result.stderr}")
    return float(found[1]) * 8

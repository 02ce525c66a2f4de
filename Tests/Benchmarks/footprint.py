"""What a server takes that is not speed: memory of idle connections, allocations, time to start."""

import os
import re
import socket
import ssl
import subprocess
import tempfile
import time

import loads
from loads import ECHO, MESSAGE, framed

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def text(value: bytes) -> bytes:
    return bytes([len(value)]) + value


def one_call(scheme: bytes) -> bytes:
    """All that a client says for one unary echo on a new connection. The header block is spelled out, without Huffman."""
    headers = (b"\x83" + (b"\x87" if scheme == b"https" else b"\x86") + b"\x04" + text(ECHO.encode()) + b"\x01" + text(b"localhost")
               + b"\x0f\x10" + text(b"application/grpc") + b"\x00" + text(b"te") + text(b"trailers"))
    return PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, headers) + frame(0, 1, 1, framed(MESSAGE))


class Connection:
    """One connection with one call answered on it, open until it is closed."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if server.url.startswith("https:"):
            context = ssl.create_default_context(cafile=server.authority)
            context.set_alpn_protocols(["h2"])
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.sendall(one_call(server.url.split(":")[0].encode()))
        self.buffer = b""
        answer = b""
        while True:
            kind, flags, stream, payload = self.next_frame()
            if kind == 4 and not flags & 1:
                self.socket.sendall(frame(4, 1, 0, b""))
            if kind in (3, 7):
                raise loads.Refused(f"{server.name} refused the one call of a connection")
            if stream == 1 and kind == 0:
                answer += payload
            if stream == 1 and flags & 1:
                break
        if answer != framed(MESSAGE):
            raise loads.Refused(f"{server.name} answered {answer!r}")

    def next_frame(self) -> tuple[int, int, int, bytes]:
        head = self.read(9)
        return head[3], head[4], int.from_bytes(head[5:9], "big"), self.read(int.from_bytes(head[:3], "big"))

    def read(self, count: int) -> bytes:
        while len(self.buffer) < count:
            got = self.socket.recv(65536)
            if not got:
                raise loads.Refused("the server closed an idle connection")
            self.buffer += got
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    def close(self) -> None:
        self.socket.close()


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"^Rss:\s+(\d+) kB", file.read(), re.MULTILINE)[1]) * 1024


def idle_bytes(server, connections: int = 1_000) -> float:
    """Resident memory per connection that has had one call and is idle. The first ten are not counted: they bring what all share."""
    kept = [Connection(server) for _ in range(10)]
    before = resident_bytes(server.pid)
    kept += [Connection(server) for _ in range(connections)]
    after = resident_bytes(server.pid)
    for connection in kept:
        connection.close()
    return (after - before) / connections


def allocations(make, counter: str, requests: int = 40_000) -> float:
    """Calls of malloc and its kin per unary call: the difference of two run lengths, so that connections do not count."""
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as shared:
        shared.write(bytes(8))
        shared.flush()

        def count() -> int:
            with open(shared.name, "rb") as file:
                return int.from_bytes(file.read(8), "little")

        with make({"LD_PRELOAD": counter, "PARLEY_ALLOCATION_COUNT": shared.name}) as server:
            def made(number: int) -> int:
                before = count()
                loads.h2load(server, ECHO, MESSAGE, len(framed(MESSAGE)), requests=number, connections=10, streams=100)
                return count() - before

            made(requests)
            few, many = made(requests), made(3 * requests)
            if not few:
                raise loads.Refused(f"the allocations of {server.name} are not counted")
            return (many - few) / (2 * requests)


def start_ms(command: list[str]) -> float:
    """Milliseconds from exec to the whole answer to a call."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        port_file = os.path.join(folder, "port")
        began = time.monotonic()
        process = subprocess.Popen([part if part != "{port_file}" else port_file for part in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            class Here:
                name, url, port = command[0], "http:", 0

            while not Here.port:
                try:
                    with open(port_file) as file:
                        # Only a line that is whole.
                        said = file.read()
                        Here.port = int(said) if said.endswith("\n") else 0
                except FileNotFoundError:
                    pass
                if process.poll() is not None or time.monotonic() - began > 30:
                    raise loads.Refused(f"{command[0]} did not start")
                time.sleep(0.0001)
            connection = Connection(Here)
            seconds = time.monotonic() - began
            connection.close()
            return seconds * 1000
        finally:
            process.kill()
            process.wait()


def start_command(binary: str, *more: str) -> list[str]:
    return [binary, "--port", "0", "--port-file", "{port_file}", *more]

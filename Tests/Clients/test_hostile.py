"""Peers that speak no HTTP/2, or speak it to do harm: the service ends their connections and serves everybody else."""

import os
import random
import socket
import ssl
import struct
import time

from stack import Case, Stack, await_true

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """A frame; `length` is what its header claims."""
    size = len(payload) if length is None else length
    return struct.pack(">I", size)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name, value):
    """A header field, literal, without indexing, without Huffman."""

    def text(value):
        size = len(value)
        if size < 127:
            return bytes([size]) + value
        prefix, size = b"\x7f", size - 127
        while size >= 128:
            prefix, size = prefix + bytes([size % 128 + 128]), size // 128
        return prefix + bytes([size]) + value

    return b"\x00" + text(name) + text(value)


REQUEST = b"".join(field(name, value) for name, value in (
    (b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/healthz"), (b":authority", b"localhost")))

OPEN_REQUEST = b"".join(field(name, value) for name, value in (
    (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/parley.broker.v1.TokenBrokerService/WhoAmI"),
    (b":authority", b"localhost"), (b"content-type", b"application/grpc"), (b"te", b"trailers")))


def header_frames(stream, block):
    """A header list in as many frames as it takes."""
    parts = [block[start:start + 16_000] for start in range(0, len(block), 16_000)]
    last = len(parts) - 1
    return b"".join(
        frame(CONTINUATION if number else HEADERS,
              (END_HEADERS if number == last else 0) | (0 if number else END_STREAM), stream, part)
        for number, part in enumerate(parts))


def attacks():
    """What ends a connection: 90 headers of 700 bytes, 205 lists of 20 KB."""
    many = REQUEST + b"".join(field(b"x-%d" % number, b"b" * 700) for number in range(90))
    long = REQUEST + field(b"x-long", b"b" * 20_000)
    return (
        header_frames(1, many),
        b"".join(header_frames(stream, long) for stream in range(1, 411, 2)),
    )


def resets(first, last):
    """Requests whose body does not end, with these streams, and what resets them."""
    streams = range(first, last, 2)
    return (
        b"".join(frame(HEADERS, END_HEADERS, stream, OPEN_REQUEST) for stream in streams),
        b"".join(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)) for stream in streams))


class HostileTests(Case):
    @classmethod
    def setUpClass(cls):
        # The attackers come from 127.0.0.2: who comes from a proxy's address is the proxy, whose connection no caller ends.
        cls.stack = Stack(settings={"PARLEY_AUTH_TRUSTED_PROXIES": "127.0.0.1/32"})
        cls.addClassCleanup(cls.stack.stop)
        cls.auth = cls.stack.copies[0]
        cls.token = cls.stack.id_token()
        cls.broker = cls.auth.broker()

    def setUp(self):
        self.pid = self.auth.pid

    def tearDown(self):
        self.serves()

    def serves(self):
        """A well-behaved caller is served, by the process that was started."""
        self.assertTrue(self.auth.runs)
        request = self.stack.ground.messages.WhoAmIRequest()
        answer = self.broker.WhoAmI(request, metadata=self.stack.metadata(self.stack.id_token()), timeout=10)
        self.assertTrue(answer.sub)

    def connect(self, port="grpc"):
        connection = socket.create_connection(
            ("127.0.0.1", self.auth.ports[port]), timeout=10, source_address=("127.0.0.2", 0))
        self.addCleanup(connection.close)
        return connection

    def send(self, connection, data):
        """Sends, and does not mind when nobody wants it any more."""
        try:
            connection.sendall(data)
        except (ConnectionError, ssl.SSLError):
            pass

    def is_closed(self, connection, seconds=10):
        """Whether the server closes the connection; what it says before that is read and dropped."""
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                if not connection.recv(65_536):
                    return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return False

    def test_garbage(self):
        """What is not HTTP/2 at all ends the connection."""
        noise = random.Random(7)
        http1, hello = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00"
        for data in (noise.randbytes(4096), http1, hello, bytes(1000)):
            with self.subTest(data=data[:8]):
                connection = self.connect()
                self.send(connection, data)
                connection.shutdown(socket.SHUT_WR)
                self.assertTrue(self.is_closed(connection))

    def test_garbage_after_the_preface(self):
        """Frames of random bytes, each seed another, end the connection or are ignored; nothing else happens."""
        for seed in range(40):
            noise = random.Random(seed)
            frames = b"".join(
                frame(
                    noise.randrange(12), noise.randrange(256), noise.choice((0, 1, 3, 2**31 - 1)),
                    noise.randbytes(noise.randrange(64)))
                for _ in range(20))
            connection = self.connect()
            self.send(connection, PREFACE + frame(SETTINGS) + frames)
            connection.shutdown(socket.SHUT_WR)
            self.assertTrue(self.is_closed(connection), seed)

    def test_frame_that_claims_too_much(self):
        """A frame that claims 16 MB is refused before it is read."""
        connection = self.connect()
        self.send(connection, PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, b"x", length=2**24 - 1))
        self.assertTrue(self.is_closed(connection))

    def test_huge_headers(self):
        """A header block of 4 MB in CONTINUATION frames is not collected."""
        connection = self.connect()
        block = REQUEST + field(b"x-bomb", b"a" * (4 << 20))
        parts = [block[start:start + 16_000] for start in range(0, len(block), 16_000)]
        frames = [frame(HEADERS, END_STREAM, 1, parts[0])]
        frames += [frame(CONTINUATION, 0, 1, part) for part in parts[1:-1]] + [frame(CONTINUATION, END_HEADERS, 1, parts[-1])]
        self.send(connection, PREFACE + frame(SETTINGS) + b"".join(frames))
        self.assertTrue(self.is_closed(connection))

    def test_one_field_a_thousand_times(self):
        """A block that refers 100,000 times to one big field of the table is refused, and costs no memory."""
        before = self.resident()
        connection = self.connect()
        # Indexed once (first entry of the dynamic table), then named by one byte each time.
        big = b"\x40" + field(b"x-big", b"a" * 3900)[1:]
        block = REQUEST + big + b"\xbe" * 12_000
        self.send(connection, PREFACE + frame(SETTINGS) + b"".join(
            frame(HEADERS, END_HEADERS | END_STREAM, stream, block if stream == 1 else REQUEST + b"\xbe" * 12_000)
            for stream in range(1, 17, 2)))
        connection.shutdown(socket.SHUT_WR)
        self.assertTrue(self.is_closed(connection))
        self.assertLess(self.resident() - before, 64 << 20)

    def test_rapid_reset(self):
        """Streams that are opened and reset by the thousand end the connection."""
        connection = self.connect()
        self.send(connection, PREFACE + frame(SETTINGS))
        flood = b"".join(
            frame(HEADERS, END_HEADERS | END_STREAM, stream, REQUEST) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
            for stream in range(1, 20_001, 2))
        self.send(connection, flood)
        self.assertTrue(self.is_closed(connection))

    def test_long_headers(self):
        """BB-01: without a proxy between, 90 headers of 700 bytes end the connection, and so do 205 lists of 20 KB."""
        for requests in attacks():
            connection = self.connect()
            self.send(connection, PREFACE + frame(SETTINGS) + requests)
            self.assertTrue(self.is_closed(connection))

    def test_ping_and_settings_floods(self):
        """Floods that ask for an answer each, by a peer that reads none, take no memory."""
        before = self.resident()
        for flood in (frame(PING, 0, 0, bytes(8)) * 200_000, frame(SETTINGS) * 200_000):
            connection = self.connect()
            connection.settimeout(3)
            try:
                connection.sendall(PREFACE + frame(SETTINGS) + flood)
            except (ConnectionError, TimeoutError):
                pass
        self.assertLess(self.resident() - before, 64 << 20)

    def test_slow_and_silent_peers(self):
        """Two hundred peers that say nothing, or half a preface, or half a frame, keep nobody waiting."""
        openings = (b"", PREFACE[:10], PREFACE + frame(SETTINGS)[:4], PREFACE + frame(SETTINGS) + frame(HEADERS, 0, 1, REQUEST))
        connections = [self.connect() for _ in range(200)]
        for number, connection in enumerate(connections):
            self.send(connection, openings[number % len(openings)])
        for _ in range(3):
            began = time.monotonic()
            self.serves()
            self.assertLess(time.monotonic() - began, 5)
        for connection in connections:
            connection.close()
        await_true("their connections are gone", lambda: self.auth.metric("parley_server_connections") < 10)

    def test_tls_port(self):
        """Clear text, garbage and an unknown protocol at the TLS port end in a closed connection."""
        for data in (PREFACE + frame(SETTINGS), os.urandom(2000), b"\x16\x03\x01\xff\xff" + bytes(100)):
            connection = self.connect("tls")
            self.send(connection, data)
            connection.shutdown(socket.SHUT_WR)
            self.assertTrue(self.is_closed(connection))
        context = ssl.create_default_context(cafile=str(self.stack.ground.ca))
        context.set_alpn_protocols(["http/1.1"])
        try:
            with context.wrap_socket(self.connect("tls"), server_hostname="localhost") as connection:
                self.send(connection, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(self.is_closed(connection))
        except ssl.SSLError as error:
            self.assertIn("ALERT", str(error).upper())

    def resident(self):
        """Bytes of memory in use by the service."""
        with open(f"/proc/{self.auth.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

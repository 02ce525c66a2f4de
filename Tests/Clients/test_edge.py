"""Two copies behind the edge: one caller does what it can to the connections that all share, and a copy is killed under load."""

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from stack import Case, Stack, await_true
from test_hostile import PING, PREFACE, SETTINGS, attacks, frame, resets


class SharedConnectionTests(Case):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(copies=2, edge=True, settings={"PARLEY_AUTH_TRUSTED_PROXIES": "127.0.0.1/32"})
        cls.addClassCleanup(cls.stack.stop)
        cls.address = cls.stack.http.removeprefix("http://")

    def attack(self, requests):
        """Sends it all, and reads until the edge has said everything or has had enough."""
        host, port = self.address.split(":")
        with socket.create_connection((host, int(port)), timeout=10, source_address=("127.0.0.2", 0)) as connection:
            try:
                connection.sendall(PREFACE + frame(SETTINGS) + requests)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass
            except OSError:
                pass

    def reset_rapidly(self):
        """934 requests in batches, each reset as soon as the edge has passed it on: what comes together it never passes on."""
        host, port = self.address.split(":")
        with socket.create_connection((host, int(port)), timeout=10, source_address=("127.0.0.2", 0)) as connection:
            try:
                connection.sendall(PREFACE + frame(SETTINGS))
                for number in range(24):
                    requests, ends = resets(number * 78 + 1, number * 78 + 79)
                    token = number.to_bytes(8, "big")
                    connection.sendall(requests + frame(PING, 0, 0, token))
                    heard = b""
                    while frame(PING, 1, 0, token) not in heard:
                        data = connection.recv(65_536)
                        if not data:
                            return
                        heard += data
                    connection.sendall(ends)
            except OSError:
                pass

    def test_attacks(self):
        """BB-01: beside all three attacks no one of 100 long calls ends, and no call on 50 other streams waits for a second."""
        channel = grpc.insecure_channel(self.address, [("grpc.enable_retries", 0)])
        self.addCleanup(channel.close)
        health = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest()
        watches = [health.Watch(request) for _ in range(100)]
        for watch in watches:
            self.assertEqual(next(watch).status, health_pb2.HealthCheckResponse.SERVING)
        done, worst, failures = threading.Event(), [0.0], []
        calls, late = [0], [0.0]

        def clock():
            """How late this machine wakes anybody: what exceeds a few times that is not its doing."""
            while not done.is_set():
                began = time.monotonic()
                done.wait(0.02)
                late[0] = max(late[0], time.monotonic() - began - 0.02)

        def others():
            while not done.is_set():
                began = time.monotonic()
                try:
                    health.Check(request, timeout=10)
                except grpc.RpcError as error:
                    failures.append(error)
                worst[0] = max(worst[0], time.monotonic() - began)
                calls[0] += 1

        with ThreadPoolExecutor(51) as pool:
            try:
                running = [pool.submit(others) for _ in range(50)] + [pool.submit(clock)]
                await_true("the others' calls", lambda: calls[0] > 100)
                long, many = attacks()
                for requests in [long] * 4 + [many] * 2:
                    self.attack(requests)
                for _ in range(4):
                    self.reset_rapidly()
                reached = calls[0] + 100
                await_true("the others' calls after the attacks", lambda: calls[0] > reached)
            finally:
                done.set()
            for one in running:
                one.result(30)
        self.assertEqual(failures, [])
        self.assertLess(worst[0], 1.0 + 4 * late[0])
        self.assertFalse([watch.code() for watch in watches if not watch.is_active()])
        for copy in self.stack.copies:
            self.assertTrue(copy.runs)
        for watch in watches:
            watch.cancel()


class CopiesTests(Case):
    def test_killed_under_load(self):
        """B-53: two copies behind the edge, one of them killed under load: the other serves all, until the first is back."""
        stack = Stack(copies=2, edge=True, settings={
            "PARLEY_AUTH_TRUSTED_PROXIES": "127.0.0.1/32", "PARLEY_AUTH_IP_RATE_PER_MIN": "100000",
            "PARLEY_AUTH_IP_BURST": "100000"})
        self.addCleanup(stack.stop)
        address = stack.http.removeprefix("http://")
        channel = grpc.insecure_channel(address, [("grpc.enable_retries", 0)])
        self.addCleanup(channel.close)
        broker = stack.ground.services.TokenBrokerServiceStub(channel)
        health = health_pb2_grpc.HealthStub(channel)
        # A user may call 30 times at once and once a second: enough users that none gets there.
        tokens = stack.id_tokens([{}] * 200)
        request = stack.ground.messages.WhoAmIRequest()
        done, lock, outcomes = threading.Event(), threading.Lock(), []

        def load(caller):
            turn = caller
            while not done.is_set():
                turn += 8
                began = time.monotonic()
                error = None
                try:
                    metadata = [("authorization", f"Bearer {tokens[turn % len(tokens)]}")]
                    broker.WhoAmI(request, metadata=metadata, timeout=10)
                except grpc.RpcError as failed:
                    error = failed
                with lock:
                    outcomes.append((began, time.monotonic(), error))
                done.wait(0.02)

        def answered():
            with lock:
                return sum(1 for outcome in outcomes if outcome[2] is None)

        def served(copy):
            return len(copy.calls("WhoAmI", "OK"))

        killed, other = stack.copies
        threads = [threading.Thread(target=load, args=[number], daemon=True) for number in range(8)]
        for thread in threads:
            thread.start()
        try:
            await_true("both copies serve", lambda: served(killed) >= 20 and served(other) >= 20, 60)
            at = time.monotonic()
            os.kill(killed.pid, signal.SIGKILL)
            before = answered()
            await_true("the other copy serves everything", lambda: answered() >= before + 200, 60)
            settled = time.monotonic()
            # What was on its way to the copy that died may fail, and only that, for as long as the edge takes to look.
            with lock:
                failed = [outcome for outcome in outcomes if outcome[2]]
            self.assertFalse([str(error) for began, _, error in failed if began > at + 5])
            self.assertFalse([error.code() for _, _, error in failed if error.code() not in (
                grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN)])
            self.assertLessEqual(len(failed), 50)
            status = health.Check(health_pb2.HealthCheckRequest(), timeout=10).status
            self.assertEqual(status, health_pb2.HealthCheckResponse.SERVING)
            self.assertEqual(other.admin("/readyz")[0], 200)
            # The same copy at the same address, as whoever supervises it starts it again.
            again = stack.start_auth("auth-again", PARLEY_AUTH_LISTEN=f"127.0.0.1:{killed.ports['grpc']}")
            await_true("the copy that came back serves", lambda: served(again) >= 20, 60)
        finally:
            done.set()
            for thread in threads:
                thread.join(30)
        self.assertFalse([str(error) for began, _, error in outcomes if error and began > settled])

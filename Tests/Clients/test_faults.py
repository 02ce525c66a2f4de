"""What the service depends on fails, or the service is asked to go, while callers are at work."""

import threading
import time

import grpc
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from stack import Case, Stack, await_true

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def health(auth):
    """What the health service answers."""
    with auth.channel(own=True) as channel:
        return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10).status


def reason(error):
    """The reason in the details of an error, if it carries one."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            detail.Unpack(info)
            return info.reason
    return None


class Load:
    """Callers on connections of their own, each of which exchanges one token after the other until it is told to stop."""

    def __init__(self, stack, auth, callers=4):
        self.stack = stack
        self.outcomes = []
        self._ends = threading.Event()
        # A user may call 30 times at once and once a second: enough users that none gets there.
        self._tokens = stack.id_tokens([{}] * 120)
        self._brokers = [auth.broker(own=True) for _ in range(callers)]
        self._addresses = [[stack.address() for _ in range(50)] for _ in range(callers)]
        self._threads = [threading.Thread(target=self._call, args=[number], daemon=True) for number in range(callers)]
        for thread in self._threads:
            thread.start()

    def _call(self, caller):
        request = self.stack.ground.messages.ExchangeTokenRequest()
        turn = 0
        while not self._ends.is_set():
            turn += 1
            token = self._tokens[(turn * len(self._threads) + caller) % len(self._tokens)]
            metadata = self.stack.metadata(token, self._addresses[caller][turn % 50])
            try:
                self._brokers[caller].ExchangeToken(request, metadata=metadata, timeout=20)
                self.outcomes.append(None)
            except grpc.RpcError as error:
                self.outcomes.append(error)
            self._ends.wait(0.01)

    @property
    def answered(self):
        return self.outcomes.count(None)

    def stop(self):
        self._ends.set()
        for thread in self._threads:
            thread.join(30)
        return [outcome for outcome in self.outcomes if outcome]


class DatabaseTests(Case):
    def test_killed_under_load(self):
        """PostgreSQL is killed under load: UNAVAILABLE with a reason, NOT_SERVING, and all is well again once it is back."""
        stack = Stack()
        self.addCleanup(stack.stop)
        # Whatever happens here, the others want a database.
        self.addCleanup(stack.ground.start_postgres)
        auth = stack.copies[0]
        load = Load(stack, auth)
        self.addCleanup(load.stop)
        await_true("calls are answered", lambda: load.answered > 20)

        stack.ground.kill_postgres()
        await_true("health says NOT_SERVING", lambda: health(auth) == NOT_SERVING, 15)
        self.assertEqual(auth.admin("/readyz")[0], 503)
        self.assertEqual(auth.admin("/livez")[0], 200)
        seen = len(load.outcomes)
        await_true("calls end without the database", lambda: len(load.outcomes) >= seen + 20, 30)

        stack.ground.start_postgres()
        await_true("health says SERVING", lambda: health(auth) == SERVING, 30)
        answered = load.answered
        await_true("calls are answered again", lambda: load.answered > answered + 20)
        errors = load.stop()
        self.assertTrue(auth.runs)
        # The service never closed a connection either: each error is an answer of its own.
        told = {(error.code(), reason(error)) for error in errors}
        self.assertLessEqual(
            told, {(grpc.StatusCode.UNAVAILABLE, "LIMITER_UNAVAILABLE"), (grpc.StatusCode.UNAVAILABLE, "AUDIT_UNAVAILABLE")})
        self.assertTrue(told)
        self.assertEqual(load.outcomes[-1], None)


class TerminationTests(Case):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(start=False, settings={"PARLEY_AUTH_MINT_CACHE_ENABLED": "false"})
        cls.addClassCleanup(cls.stack.stop)

    def begin(self, auth, count):
        """So many exchanges that hang where tokens are minted; all with the server when this returns."""
        broker = auth.broker(own=True)
        tokens = self.stack.id_tokens([{}] * count)
        started = auth.metric("grpc_server_call_started_total", "ExchangeToken")
        calls = [
            broker.ExchangeToken.future(
                self.stack.ground.messages.ExchangeTokenRequest(), metadata=self.stack.metadata(token), timeout=40)
            for token in tokens
        ]
        await_true(
            "the calls are with the server",
            lambda: auth.metric("grpc_server_call_started_total", "ExchangeToken") >= started + count)
        return calls

    def test_drains_under_load(self):
        """SIGTERM under load: every call that was accepted is answered, and the exit status is 0."""
        auth = self.stack.start_auth("drains")
        load = Load(self.stack, auth)
        self.addCleanup(load.stop)
        await_true("calls are answered", lambda: load.answered > 20)
        self.stack.fault("/google/token", delayMs=1500)
        self.addCleanup(self.stack.end_faults)
        calls = self.begin(auth, 20)
        auth.terminate()
        self.assertEqual(auth.wait(30), 0, auth.text()[-2000:])
        errors = load.stop()
        for call in calls:
            self.assertIsNone(call.exception(), call.exception())
            self.assertTrue(call.result().access_token)
        # Nobody listens any more, is all that the others may have learnt.
        for error in errors:
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertRegex(error.details(), r"(?i)failed to connect|connection refused|GOAWAY")
        answered = len(auth.calls("ExchangeToken", "OK"))
        self.assertEqual(answered, load.answered + len(calls))
        logged = [record for record in auth.records(logger="parley.access") if "ExchangeToken" in record["method"]]
        self.assertEqual(len(logged), answered)
        self.assertFalse(auth.port_file.exists())

    def test_second_signal_ends_at_once(self):
        """A second SIGTERM does not wait for the calls under way."""
        auth = self.stack.start_auth("impatient")
        self.stack.fault("/google/token", delayMs=20_000)
        self.addCleanup(self.stack.end_faults)
        call, = self.begin(auth, 1)
        auth.terminate()
        await_true("it drains", lambda: auth.records(message="draining"))
        self.assertTrue(auth.runs)
        began = time.monotonic()
        auth.terminate()
        # How it says so is its own affair, but it is no success.
        self.assertNotEqual(auth.wait(5), 0)
        self.assertLess(time.monotonic() - began, 5)
        self.assertIsNotNone(call.exception())


class KeysTests(Case):
    def test_not_ready_before_there_are_keys(self):
        """B-09: a service that cannot fetch the keys starts, is not ready, and becomes so without a restart."""
        stack = Stack(start=False)
        self.addCleanup(stack.stop)
        stack.fault("/google/certs", drop=True)
        auth = stack.start_auth("auth", waits=False, PARLEY_AUTH_JWKS_COOLDOWN="1s")
        auth.listens()
        await_true("a fetch has failed", lambda: stack.served("/google/certs") > 0)
        self.assertEqual(health(auth), NOT_SERVING)
        status, body = auth.admin("/readyz")
        self.assertEqual((status, body), (503, "not serving: keys\n"))
        token = stack.id_token()
        request = stack.ground.messages.WhoAmIRequest()
        error = self.status_of(auth.broker().WhoAmI, request, metadata=stack.metadata(token), timeout=20)
        self.assertEqual((error.code(), reason(error)), (grpc.StatusCode.UNAVAILABLE, "KEYS_UNAVAILABLE"))
        stack.end_faults()
        await_true("health says SERVING", lambda: health(auth) == SERVING, 30)
        self.assertTrue(auth.broker().WhoAmI(request, metadata=stack.metadata(token), timeout=20).sub)

"""Callers that write all the time, as an outside client would: they send with deadlines, repeat with the same key what was not
answered, leave a connection that has gone silent, and note everything in the ledger."""

import random
import re
import threading
import time
from collections import Counter

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from chaos_ground import AUTH, LEDGER
from ledger import Entry

OK = grpc.StatusCode.OK
# What may be said while something is broken: each tells the caller that it may try again.
CLEAR = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.ABORTED,
         grpc.StatusCode.RESOURCE_EXHAUSTED}
DEADLINE = 2.0
# How much later than its deadline a caller may hear, on a machine with other things to do.
GRACE = 3.0
OPTIONS = [
    ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 500), ("grpc.max_reconnect_backoff_ms", 1000)]


class Phase:
    """What the callers saw while one thing was broken."""

    def __init__(self, name, clear=frozenset(CLEAR), details=""):
        self.name = name
        self.clear = clear  # the statuses that calls may end with
        self.details = details  # a pattern that each one's details must match
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.refused = Counter()
        self.last_refusal = self.began
        self.acknowledged = []  # (when, copy, method)
        self.wrong = []  # what no caller should see

    def answered(self, copy, method, at):
        with self.lock:
            self.acknowledged.append((at, copy, method))

    def ended(self, copy, error, took):
        with self.lock:
            self.refused[error.code().name] += 1
            self.last_refusal = time.monotonic()
            if error.code() not in self.clear or not re.search(self.details, error.details() or "", re.IGNORECASE):
                self.wrong.append(f"{copy.name}: {error.code().name}: {error.details()}")
            elif took > DEADLINE + GRACE:
                self.wrong.append(f"{copy.name}: {error.code().name} after {took:.1f} s, with a deadline of {DEADLINE} s")

    def answers_since(self, moment, *methods):
        """The copies that have answered a call since then; of these methods only, where some are named."""
        with self.lock:
            return {copy for at, copy, method in self.acknowledged if at > moment and (not methods or method in methods)}

    def longest_gap(self, until):
        """The longest time in which no call of anybody was acknowledged, in seconds."""
        with self.lock:
            times = sorted([self.began, *(at for at, _, _ in self.acknowledged), until])
        return max(later - earlier for earlier, later in zip(times, times[1:]))


class Connection:
    """A caller's connection to one copy. After three deadlines in a row it is given up for another: the peer may be gone."""

    def __init__(self, ground, copy):
        self.ground, self.copy = ground, copy
        self.silence = 0
        self._open()

    def _open(self):
        self.channel = grpc.insecure_channel(self.copy.address, OPTIONS)
        services = self.ground.api[self.copy.service][1]
        self.stub = services.LedgerServiceStub(self.channel) if self.copy.service == LEDGER else (
            services.TokenBrokerServiceStub(self.channel))

    def heard(self, code):
        self.silence = self.silence + 1 if code == grpc.StatusCode.DEADLINE_EXCEEDED else 0
        if self.silence == 3:
            self.silence = 0
            self.channel.close()
            self._open()


class Caller(threading.Thread):
    """One caller, on connections of its own to every copy of its service."""

    def __init__(self, load, number, seed):
        super().__init__(daemon=True)
        self.load, self.number = load, number
        self.random = random.Random(f"{seed}-{number}")
        self.prefix = f"{seed}-{number}"
        self.connections = [Connection(load.ground, copy) for copy in load.ground.of(self.service)]
        self.turn = 0
        self.is_calling = False
        self.start()

    def run(self):
        while self.load.goes(self):
            self.turn += 1
            self.work()
            self.load.pause(self.random.uniform(0.005, 0.03))

    def call(self, connection, method, request, **options):
        """The answer, or nothing; either is noted."""
        phase, began = self.load.phase, time.monotonic()
        try:
            response = getattr(connection.stub, method)(request, timeout=DEADLINE, **options)
        except grpc.RpcError as error:
            phase.ended(connection.copy, error, time.monotonic() - began)
            connection.heard(error.code())
            return None
        connection.heard(OK)
        phase.answered(connection.copy, method, time.monotonic())
        return response


class Bookkeeper(Caller):
    """Posts entries, each until it is acknowledged; repeats some that were; reads some back."""

    service = LEDGER

    def __init__(self, *arguments):
        self.known = []
        super().__init__(*arguments)

    def entry(self):
        # Two accounts, both ways: transactions then deadlock. All of them: that happens now and then.
        debit, credit = self.random.sample(range(2 if self.load.is_contended else 8), 2)
        memo = self.random.choice("abcdefghij") * self.random.randint(100, 300)
        return Entry(f"{self.prefix}-{self.turn}", f"a{debit}", f"a{credit}", self.random.randint(1, 1000), memo)

    def work(self):
        entry = self.entry()
        self.load.ledger.sends(entry)
        if not self.post(entry):
            return
        self.known.append(entry)
        if self.random.random() < 0.1:
            self.post(self.random.choice(self.known))
        if self.random.random() < 0.2:
            self.read(self.random.choice(self.known))

    def post(self, entry):
        messages = self.load.ground.api[LEDGER][0]
        request = messages.PostRequest(entry=messages.Entry(**vars(entry)), serializable=self.load.is_contended)
        choice = self.random.randrange(len(self.connections))
        while self.load.goes(self):
            response = self.call(self.connections[choice], "Post", request)
            if response:
                self.load.ledger.acknowledged(entry.key, response.id)
                return True
            choice = (choice + 1) % len(self.connections)
            self.load.pause(self.random.uniform(0.05, 0.2))
        return False

    def read(self, entry):
        messages = self.load.ground.api[LEDGER][0]
        connection = self.random.choice(self.connections)
        response = self.call(connection, "GetEntry", messages.GetEntryRequest(key=entry.key))
        if response and response.entry != messages.Entry(**vars(entry)):
            self.load.phase.wrong.append(f"{connection.copy.name}: {entry.key} reads back otherwise")


class Person(Caller):
    """Exchanges ID tokens for cloud tokens, each by a request of its own; asks who it is now and then."""

    service = AUTH

    def work(self):
        messages = self.load.ground.api[AUTH][0]
        connection = self.connections[self.turn % len(self.connections)]
        token = self.random.choice(self.load.ground.tokens)
        request = f"{self.prefix}-{self.turn}"
        metadata = [("authorization", f"Bearer {token}"), ("x-request-id", request)]
        if self.random.random() < 0.2:
            answered = self.call(connection, "WhoAmI", messages.WhoAmIRequest(), metadata=metadata)
        else:
            self.load.ledger.asks(request)
            answered = self.call(connection, "ExchangeToken", messages.ExchangeTokenRequest(), metadata=metadata)
            if answered:
                self.load.ledger.issued(request)
        if not answered:
            self.load.pause(self.random.uniform(0.05, 0.2))


class Watcher(threading.Thread):
    """Asks a copy how it is, ten times a second, and remembers when it said what."""

    def __init__(self, load, copy):
        super().__init__(daemon=True)
        self.load, self.copy = load, copy
        self.said = []  # (when, SERVING, NOT_SERVING or the status of the attempt), changes only
        self.start()

    def run(self):
        channel, silence = grpc.insecure_channel(self.copy.address, OPTIONS), 0
        while not self.load.has_ended:
            try:
                status = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=1).status
                answer, silence = health_pb2.HealthCheckResponse.ServingStatus.Name(status), 0
            except grpc.RpcError as error:
                answer, silence = error.code().name, silence + 1
                if silence % 5 == 0:
                    channel.close()
                    channel = grpc.insecure_channel(self.copy.address, OPTIONS)
            if not self.said or self.said[-1][1] != answer:
                self.said.append((time.monotonic(), answer))
            self.load.pause(0.1)
        channel.close()

    @property
    def now(self):
        return self.said[-1][1] if self.said else None

    def has_said(self, answer, since):
        return any(at >= since and said == answer for at, said in list(self.said))


class Load:
    """All callers and watchers. They stop together, and can be held between two calls."""

    def __init__(self, ground, ledger, seed, bookkeepers=6, people=3):
        self.ground, self.ledger = ground, ledger
        self.phase = Phase("warm-up")
        self.is_contended = False
        self.has_ended = False
        self._gate = threading.Condition()
        self._is_held = False
        self._end = threading.Event()
        self.callers = []
        for number in range(bookkeepers + people):
            self.callers.append((Bookkeeper if number < bookkeepers else Person)(self, number, seed))
        self.watchers = [Watcher(self, copy) for copy in ground.copies]

    def goes(self, caller):
        """Whether a caller goes on; it stands here while all are held."""
        with self._gate:
            caller.is_calling = False
            self._gate.notify_all()
            self._gate.wait_for(lambda: self.has_ended or not self._is_held)
            caller.is_calling = not self.has_ended
            return caller.is_calling

    def pause(self, seconds):
        self._end.wait(seconds)

    def hold(self):
        """Lets no further call begin, and waits for those under way: all callers stand still when it returns."""
        with self._gate:
            self._is_held = True
            if not self._gate.wait_for(lambda: not any(caller.is_calling for caller in self.callers), DEADLINE + GRACE + 10):
                raise AssertionError("a call has not ended by its deadline")

    def resume(self):
        with self._gate:
            self._is_held = False
            self._gate.notify_all()

    def begin(self, name, **what_is_clear):
        self.phase = Phase(name, **what_is_clear)
        return self.phase

    def close(self):
        self.has_ended = True
        self._end.set()
        self.resume()
        for thread in [*self.callers, *self.watchers]:
            thread.join(DEADLINE + GRACE + 10)
        for caller in self.callers:
            for connection in caller.connections:
                connection.channel.close()

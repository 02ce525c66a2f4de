"""People who sign in, stay signed in, sign out and come back, for a soak of parley-auth: real calls with real ID tokens.

Once a second some people sign in with ID tokens of the sandbox's Google, some of those who are signed in refresh (now and then the
answer is lost, and the same attempt asks again), some call with their session, and some leave: by signing out, by ending one session
from another, or by showing a refresh token twice too often. Every answer must be the one that is due.

Before that, rows that ran out long ago or run out while the soak goes on are put into every table that is swept: it begins with as
much to sweep as a service has that has run for long. Whatever has run out must be gone a moment later, to the end.
"""

import importlib
import random
import threading
import time
import uuid

import grpc

LIVE = 300  # sessions that are kept alive
SIGN_INS, REFRESHES, CALLS, LEAVES = 8, 20, 20, 7  # a second; about as many come as leave
SEEDS = 6_000
SWEEP_SECONDS, SLACK_SECONDS = 5, 30

SETTINGS = {
    "PARLEY_AUTH_SIGN_IN_PER_MIN": "1000000", "PARLEY_AUTH_SIGN_IN_BURST": "1000000", "PARLEY_AUTH_REFRESH_IP_PER_MIN": "1000000",
    "PARLEY_AUTH_REFRESH_IP_BURST": "1000000", "PARLEY_AUTH_REFRESH_PER_MIN": "1000000", "PARLEY_AUTH_REFRESH_BURST": "1000000",
    "PARLEY_AUTH_SESSION_SWEEP_INTERVAL": f"{SWEEP_SECONDS}s", "PARLEY_AUTH_SESSION_ENDED_RETENTION": "60s",
    "PARLEY_AUTH_RATE_CLEANUP_MINS": "2", "PARLEY_AUTH_LOOPS": "1",
}

# What is swept, and which of its rows should be gone: they ran out longer ago than a sweep takes to come by.
LIMIT = f"now() - interval '{SWEEP_SECONDS + SLACK_SECONDS} seconds'"
SWEPT = {
    "nonce": f"expires_at < {LIMIT}",
    "exchanged_token": f"expires_at < {LIMIT}",
    "revocation": f"matters_until < {LIMIT}",
    "session": f"coalesce(ended_at, expires_at) < {LIMIT} - interval '60 seconds'",
    "session_lookup": "not exists (select from auth.session s where s.id = session_id and s.user_id = session_lookup.user_id)",
    # Swept each minute, which is half of the time that one may lie idle.
    "rate_limit": f"touched_at < {LIMIT} - interval '180 seconds'",
}

# A row of each runs out in each second from an hour ago to an hour ahead, or so.
SEED = f"""
insert into auth.nonce select sha256(('seed' || n)::bytea), 'default', 'google', now() + (n - {SEEDS // 2}) * interval '600 ms'
  from generate_series(1, {SEEDS}) n;
insert into auth.exchanged_token select sha256(('seed' || n)::bytea), now() + (n - {SEEDS // 2}) * interval '600 ms'
  from generate_series(1, {SEEDS}) n;
insert into auth.revocation (session_id, cause, matters_until)
  select gen_random_uuid(), 'revoked', now() + n * interval '100 ms' from generate_series(1, {SEEDS}) n;
insert into auth.rate_limit select 'seed:' || n, 1, now() - n * interval '1 second', 1, 1 from generate_series(1, {SEEDS}) n;
with made as (select gen_random_uuid() as id, gen_random_uuid() as user_id, n from generate_series(1, {SEEDS}) n),
  kept as (insert into auth.session_lookup select id, user_id, 'default' from made)
insert into auth.session (user_id, id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at,
    last_address, expires_at, ends_at, generation, token_hash, ended_at, end_cause)
  select user_id, id, 'default', 'google', '', '', '', now(), now(), now(), '', now() + interval '30 days', now() + interval '365 days',
    1, sha256(('seed' || n)::bytea), now() + (n - {SEEDS // 2}) * interval '600 ms', 'signed_out' from made;
"""


class Wrong(Exception):
    """An answer that was not due."""


class People(threading.Thread):
    """The people, on a thread of their own until `end`."""

    def __init__(self, stack, seed: int | None = None):
        super().__init__()
        self.stack, self.auth = stack, stack.copies[0]
        self.seed = seed if seed is not None else random.randrange(1 << 32)
        self.random = random.Random(self.seed)
        stubs = stack.ground.folder / "stubs"
        from grpc_tools import protoc

        protos = stack_root(stack)
        bundled = str(importlib.import_module("grpc_tools").__path__[0]) + "/_proto"
        if protoc.main(["protoc", f"-I{protos}", f"-I{bundled}", f"--python_out={stubs}", f"--grpc_python_out={stubs}",
                        "parley/auth/v1/auth.proto"]):
            raise SystemExit("soak: no stubs of the auth service")
        self.messages = importlib.import_module("parley.auth.v1.auth_pb2")
        services = importlib.import_module("parley.auth.v1.auth_pb2_grpc")
        self.channel = self.auth.channel(own=True)
        self.service = services.AuthServiceStub(self.channel)
        self.sessions: list[dict] = []
        self.counts: dict[str, int] = {}
        self.failure: str | None = None
        self.stopped = threading.Event()
        self.number = 0

    # MARK: The database

    def sql(self, statement: str) -> str:
        return self.stack.ground.sql(statement, self.stack.database)

    def seed_tables(self) -> None:
        self.sql(SEED)

    def rows(self) -> dict[str, int]:
        """How many rows each table of the schema has."""
        tables = self.sql("select table_name from information_schema.tables where table_schema = 'auth' and table_type = 'BASE TABLE' "
                          "order by 1").split()
        counts = self.sql(" union all ".join(f"select '{table}', count(*) from auth.{table}" for table in tables))
        return {line.split("|")[0]: int(line.split("|")[1]) for line in counts.splitlines()}

    def overdue(self) -> dict[str, int]:
        """How many rows of each swept table should be gone."""
        counts = self.sql(" union all ".join(f"select '{table}', count(*) from auth.{table} where {which}" for table, which in SWEPT.items()))
        return {line.split("|")[0]: int(line.split("|")[1]) for line in counts.splitlines()}

    # MARK: Calls

    def metadata(self, access: str | None = None):
        address = f"198.18.{self.random.randrange(256)}.{self.random.randrange(256)}"
        return [("x-forwarded-for", address)] + ([("authorization", f"Bearer {access}")] if access else [])

    def count(self, what: str, by: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + by

    def all_at_once(self, what: str, calls: list) -> list:
        """Waits for calls that were begun together; each must succeed."""
        answers = []
        for call in calls:
            error = call.exception()
            if error:
                raise Wrong(f"{what}: {error.code().name} {error.details()}")
            answers.append(call.result())
        self.count(what, len(answers))
        return answers

    def sign_in(self, count: int) -> None:
        m = self.messages
        begun = self.all_at_once("nonces", [
            self.service.BeginSignIn.future(m.BeginSignInRequest(provider=m.IDENTITY_PROVIDER_GOOGLE), metadata=self.metadata(), timeout=20)
            for _ in range(count)])
        people = [f"person-{self.random.randrange(2_000)}" for _ in begun]
        # A minute: within the soak they run out, and are forgotten.
        tokens = self.stack.id_tokens([{"sub": person, "email": f"{person}@example.org", "nonce": nonce.provider_nonce, "expiresIn": 60}
                                       for person, nonce in zip(people, begun)])
        answers = self.all_at_once("sign-ins", [
            self.service.SignInWithGoogle.future(
                m.SignInWithGoogleRequest(id_token=token, nonce=nonce.nonce, device=m.Device(name="soak")), metadata=self.metadata(),
                timeout=20) for token, nonce in zip(tokens, begun)])
        for answer in answers:
            self.sessions.append({"id": answer.tokens.session_id, "access": answer.tokens.access_token,
                                  "refresh": answer.tokens.refresh_token, "at": time.monotonic()})

    def refresh(self, sessions: list[dict]) -> None:
        m = self.messages
        asked = [(session, uuid.uuid4().hex) for session in sessions]

        def ask():
            return [self.service.RefreshSession.future(m.RefreshSessionRequest(refresh_token=session["refresh"], attempt=attempt),
                                                       metadata=self.metadata(), timeout=20) for session, attempt in asked]

        answers = self.all_at_once("refreshes", ask())
        if self.random.randrange(10) == 0:
            # The answers were lost on the way: the same attempts are told the same.
            again = self.all_at_once("lost answers", ask())
            if [answer.tokens.refresh_token for answer in answers] != [answer.tokens.refresh_token for answer in again]:
                raise Wrong("an attempt that asked again was told something else")
        for (session, _), answer in zip(asked, answers):
            session.update(before=session["refresh"], refresh=answer.tokens.refresh_token, access=answer.tokens.access_token,
                           at=time.monotonic(), turns=session.get("turns", 0) + 1)

    def call(self, sessions: list[dict]) -> None:
        self.all_at_once("calls with a session", [
            self.service.GetProfile.future(self.messages.GetProfileRequest(), metadata=self.metadata(session["access"]), timeout=20)
            for session in sessions])

    def leave(self, session: dict) -> None:
        m, kind = self.messages, self.random.randrange(8)
        self.sessions.remove(session)
        if kind == 0 and session.get("turns", 0) >= 2 and "first" in session:
            return self.reuse(session)
        if kind <= 2:
            # From the device itself, by its identifier.
            self.service.RevokeSession(m.RevokeSessionRequest(session_id=session["id"]), metadata=self.metadata(session["access"]), timeout=20)
            self.count("revoked")
        else:
            self.service.SignOut(m.SignOutRequest(), metadata=self.metadata(session["access"]), timeout=20)
            self.count("signed out")
        self.refused(session["refresh"], "gone")

    def reuse(self, session: dict) -> None:
        """A copy of a token from long ago: it ends the session."""
        self.refused(session["first"], "reused")
        self.refused(session["refresh"], "gone")

    def refused(self, refresh: str, what: str) -> None:
        try:
            self.service.RefreshSession(self.messages.RefreshSessionRequest(refresh_token=refresh), metadata=self.metadata(), timeout=20)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAUTHENTICATED:
                raise Wrong(f"{what}: {error.code().name} {error.details()}") from None
            self.count(f"refused: {what}")
        else:
            raise Wrong(f"{what}: a token that should be worthless serves")

    # MARK: The soak

    def warm_up(self, remembered: int) -> None:
        """As many people as will be, and as many verified tokens as the service remembers: it grows no more by them afterwards."""
        while len(self.sessions) < LIVE:
            self.sign_in(min(50, LIVE - len(self.sessions)))
        for session in self.sessions:
            session["first"] = session["refresh"]
        while self.counts.get("calls with a session", 0) < remembered:
            self.refresh(self.sessions)
            self.call(self.sessions)

    def second(self) -> None:
        self.sign_in(SIGN_INS)
        for session in self.sessions[-SIGN_INS:]:
            session["first"] = session["refresh"]
        # Those that were not refreshed for longest, as apps do it ahead of time; none that was just refreshed.
        oldest = sorted(self.sessions, key=lambda session: session["at"])
        self.refresh(oldest[:REFRESHES])
        self.call(self.random.sample(self.sessions, CALLS))
        for session in self.random.sample(self.sessions, LEAVES + (len(self.sessions) > LIVE)):
            self.leave(session)

    def run(self) -> None:
        try:
            following = time.monotonic()
            while not self.stopped.is_set():
                self.second()
                following = max(following + 1, time.monotonic() - 5)
                self.stopped.wait(max(0.0, following - time.monotonic()))
        except (Wrong, grpc.RpcError, AssertionError, OSError) as error:
            self.failure = f"{type(error).__name__}: {error}"

    def end(self) -> None:
        self.stopped.set()
        if self.is_alive():
            self.join(60)
        self.channel.close()


def stack_root(stack) -> str:
    """Where the .proto files are."""
    return str(importlib.import_module("ground").ROOT / "proto")

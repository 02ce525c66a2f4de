"""What is broken, one thing at a time. Each function breaks it for about so many seconds and mends it before it returns; what it
returns is a word on how it bit."""

import contextlib
import os
import signal
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import grpc

from chaos_ground import AUTH, LEDGER
from load import CLEAR
from network import BASE, CLIENTS
from stack import await_true, run

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
NEVER_ACCEPTED = r"failed to connect|connection refused|GOAWAY"


@dataclass
class Scene:
    """What a fault works on."""

    ground: object
    load: object
    random: object

    def while_lasting(self, seconds):
        """Goes round until the time is over; at least once."""
        end = time.monotonic() + seconds
        yield
        while time.monotonic() < end:
            yield

    def wait(self, least, most=None):
        time.sleep(least if most is None else self.random.uniform(least, most))


@dataclass(frozen=True)
class Fault:
    name: str
    about: str
    inject: Callable
    bound: float = 10  # seconds from mended to well again, everywhere, without anybody restarting a service
    least: float = 3  # the shortest time that makes sense
    stops_serving: tuple = ()  # the services whose health must have said NOT_SERVING
    clear: frozenset = frozenset(CLEAR)  # what calls may end with meanwhile
    details: str = ""  # what those statuses must say
    gap: float = None  # the longest time without any answer at all


# MARK: PostgreSQL


def postgres_kill(scene, seconds):
    count = 0
    for _ in scene.while_lasting(seconds):
        scene.ground.postgres.kill()
        count += 1
        scene.wait(0.5, 2)
        scene.ground.postgres.start()
        scene.wait(1, 3)
    return f"{count} kills"


def postgres_stop(scene, seconds):
    for _ in scene.while_lasting(seconds):
        scene.ground.postgres.stop()
        scene.wait(0.5, 2)
        scene.ground.postgres.start()
        scene.wait(1, 3)


def backends(scene, seconds):
    count = 0
    for _ in scene.while_lasting(seconds):
        count += scene.ground.postgres.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename in ('parley_auth', 'parley_ledger')").count("t")
        scene.wait(0.3, 1)
    return f"{count} sessions ended"


def postgres_pause(scene, seconds):
    scene.ground.postgres.signal(signal.SIGSTOP)
    try:
        scene.wait(seconds)
    finally:
        scene.ground.postgres.signal(signal.SIGCONT)


def locks(scene, seconds):
    """Somebody holds the tables; then the same where the server gives up on locks by itself (55P03)."""
    sql = scene.ground.postgres.sql
    hold = "begin; lock table ledger.entry, auth.token_issuance in exclusive mode; select pg_sleep(2.5); commit"
    try:
        for turn, _ in enumerate(scene.while_lasting(seconds)):
            if turn == 1:
                sql("alter role parley_ledger set lock_timeout = '100ms'; alter role parley_auth set lock_timeout = '100ms'")
                sql("select pg_terminate_backend(pid) from pg_stat_activity where usename in ('parley_auth', 'parley_ledger')")
            sql(hold)
            scene.wait(0.2)
    finally:
        sql("alter role parley_ledger reset lock_timeout; alter role parley_auth reset lock_timeout")
        sql("select pg_terminate_backend(pid) from pg_stat_activity where usename in ('parley_auth', 'parley_ledger')")


def aborts(scene, seconds):
    """Opposite, serializable moves between two accounts, and a trigger that aborts one insert in five."""
    sql = scene.ground.postgres.sql
    sql("""
        create function ledger.abort() returns trigger language plpgsql as $$
        begin
          if random() < 0.2 then
            raise exception 'injected' using errcode = case when random() < 0.5 then '40001' else '40P01' end;
          end if;
          return new;
        end $$;
        create trigger abort before insert on ledger.entry for each row execute function ledger.abort()""")
    before = int(sql("select xact_rollback from pg_stat_database where datname = 'chaos'"))
    scene.load.is_contended = True
    try:
        scene.wait(seconds)
    finally:
        scene.load.is_contended = False
        sql("drop function ledger.abort cascade")
    after = int(sql("select xact_rollback from pg_stat_database where datname = 'chaos'"))
    assert after > before, "nothing was rolled back"
    return f"{after - before} rolled back"


def disk_full(scene, seconds):
    """The disk of the database is full. It may panic; whoever runs it then makes room and starts it again."""
    with filled(scene.ground.disk):
        scene.wait(seconds)
    if scene.ground.postgres.runs():
        return None
    scene.ground.postgres.start()
    return "PostgreSQL had ended"


# MARK: The services


def service_kill(scene, seconds):
    count = 0
    for _ in scene.while_lasting(seconds):
        scene.random.choice(scene.ground.copies).signal(signal.SIGKILL)
        count += 1
        scene.wait(max(2, min(30, seconds / 8)))
    return f"{count} kills"


def service_term(scene, seconds):
    """Each copy in its turn is asked to go: what it has accepted is answered, and it ends with 0."""
    slowest = 0
    for turn, _ in enumerate(scene.while_lasting(seconds)):
        copy = scene.ground.copies[turn % len(scene.ground.copies)]
        ends, began = len(copy.ends), time.monotonic()
        copy.program.terminate()
        await_true(f"{copy.name} has ended", lambda: len(copy.ends) > ends, 30)
        slowest = max(slowest, time.monotonic() - began)
        assert copy.ends[-1] == 0, f"{copy.name} ended with {copy.ends[-1]}"
        await_true(f"{copy.name} is ready again", copy.is_ready, 30)
    return f"slowest drain {slowest:.1f} s"


def log_full(scene, seconds):
    """The disk of the logs is full: callers must not notice, and there are logs again afterwards."""
    with filled(scene.ground.logs):
        scene.wait(seconds)
    sizes = {copy: copy.log.stat().st_size for copy in scene.ground.copies}
    for copy, size in sizes.items():
        await_true(f"{copy.name} logs again", lambda: copy.log.stat().st_size > size, 10)


def log_gone(scene, seconds):
    """Whoever read the logs has gone (SIGPIPE), and callers reset their connections in the middle of a call."""
    for copy in scene.ground.copies:
        log, pipe = copy.log, Path(f"{copy.log}.pipe")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            copy.log = pipe
            scene.ground.supervisor.restart(copy)
        finally:
            os.close(reader)
            copy.log = log
    starts = [copy.starts for copy in scene.ground.copies]
    count = 0
    for _ in scene.while_lasting(seconds):
        for copy in scene.ground.copies:
            reset_midway(copy)
            count += 1
        scene.wait(0.01, 0.05)
    assert starts == [copy.starts for copy in scene.ground.copies], "a copy ended without a reader of its log"
    for copy in scene.ground.copies:
        Path(f"{copy.log}.pipe").unlink()
        scene.ground.supervisor.restart(copy)
    return f"{count} resets"


def clock(scene, seconds):
    """The time of day jumps an hour ahead, two back, and home, under running services; deadlines and timers must not care."""
    library, time_of_day = scene.ground.folder / "clock_jump.so", scene.ground.folder / "time-of-day"
    run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, Path(__file__).with_name("clock_jump.c")])
    time_of_day.write_bytes(struct.pack("=q", 0))
    for copy in scene.ground.copies:
        copy.extra = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(time_of_day)}
        scene.ground.supervisor.restart(copy)
    services, refused = set(scene.ground.copies), scene.load.phase.refused
    started = time.monotonic()
    # Cloud tokens are minted now: an hour from here Google would not believe what we sign.
    await_true("every copy writes", lambda: scene.load.phase.answers_since(started, "Post", "ExchangeToken") >= services)
    try:
        for jump, answering in ((3600, services), (-3600, set(scene.ground.of(LEDGER))), (0, services)):
            before = refused["UNAUTHENTICATED"]
            with open(time_of_day, "r+b") as file:
                file.write(struct.pack("=q", jump))
            jumped = time.monotonic()
            scene.wait(max(3, seconds / 3))
            # An hour ago the tokens were not issued yet: they are refused, and nothing else is.
            assert scene.load.phase.answers_since(jumped) >= answering, f"not every service answers at {jump} s"
            assert (refused["UNAUTHENTICATED"] > before + 3) == (jump < 0), f"tokens are judged wrongly at {jump} s"
    finally:
        # Whatever was found: the faults that follow are no clock's.
        for copy in scene.ground.copies:
            copy.extra = {}
            scene.ground.supervisor.restart(copy)
    return f"{refused['UNAUTHENTICATED']} tokens of the future refused"


# MARK: The network


def cut(link):
    def inject(scene, seconds):
        scene.ground.network.cut(link)
        try:
            scene.wait(seconds)
        finally:
            scene.ground.network.mend(link)

    return inject


def slow(link):
    def inject(scene, seconds):
        scene.ground.network.throttle(link, 512)
        began = time.monotonic()
        try:
            scene.wait(seconds)
        finally:
            scene.ground.network.release(link)
        assert scene.load.phase.answers_since(began), "nothing at all came through"

    return inject


def flap(link):
    def inject(scene, seconds):
        count = 0
        for _ in scene.while_lasting(seconds):
            scene.ground.network.down(link)
            try:
                scene.wait(0.2, 1.5)
            finally:
                scene.ground.network.up(link)
            count += 1
            scene.wait(0.2, 1.5)
        return f"{count} times down"

    return inject


# MARK: Means


@contextlib.contextmanager
def filled(disk):
    """The disk without a free block."""
    filler = disk / "filler"
    with open(filler, "wb") as file:
        try:
            free = os.statvfs(disk)
            # Others write meanwhile: most of it at once, the rest piece by piece until there is none.
            os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize - (4 << 20)))
            file.seek(0, os.SEEK_END)
            with contextlib.suppress(OSError):
                while True:
                    os.write(file.fileno(), b"\0" * 4096)
            yield
        finally:
            filler.unlink()


def reset_midway(copy):
    """Begins HTTP/2, sends half a frame, and is gone with a reset."""
    host, port = copy.address.rsplit(":", 1)
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=2) as peer:
        peer.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5) + b"\0\0\x20\1\4")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


BOTH = (LEDGER, AUTH)
ALL = [
    Fault("postgres-kill", "PostgreSQL and its children are killed (-9), and started again", postgres_kill, 15, 4, BOTH),
    Fault("postgres-stop", "PostgreSQL is stopped and started", postgres_stop, 10, 4, BOTH),
    Fault("backends", "pg_terminate_backend of every session of the services", backends),
    Fault("postgres-pause", "PostgreSQL is stopped in its tracks (SIGSTOP) and goes on", postgres_pause, 15, 12, BOTH),
    Fault("locks", "somebody else holds the tables' locks", locks, 10, 6),
    Fault("aborts", "deadlocks and serialization failures (40P01, 40001)", aborts),
    Fault("disk-full", "the disk of the database is full", disk_full, 20, 5),
    Fault("log-full", "the disk of the logs is full", log_full, 5, 3, clear=frozenset(), gap=5),
    Fault("log-gone", "nobody reads the logs any more, and callers reset connections", log_gone, 10, 3,
          clear=frozenset([UNAVAILABLE])),
    Fault("service-kill", "a copy is killed (-9), and its supervisor starts it again", service_kill, 10, 4),
    Fault("service-term", "a copy is asked to go under load", service_term, 10, 4,
          clear=frozenset([UNAVAILABLE]), details=NEVER_ACCEPTED, gap=5),
    Fault("clock", "the time of day jumps an hour ahead, two back, and home", clock, 10, 9,
          clear=frozenset([UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED]), gap=5),
    Fault("database-cut", "no packet between services and PostgreSQL, and no reset", cut(BASE), 20, 13, BOTH),
    Fault("database-slow", "512 kbit/s between services and PostgreSQL", slow(BASE)),
    Fault("database-flap", "the link to PostgreSQL goes up and down", flap(BASE), 15),
    Fault("clients-cut", "no packet between callers and services, and no reset", cut(CLIENTS), 15),
    Fault("clients-slow", "512 kbit/s between callers and services", slow(CLIENTS)),
    Fault("clients-flap", "the link to the callers goes up and down", flap(CLIENTS), 15),
]

"""The cases of `make bench`, in groups that share servers. Each gives its results; `raw` keeps every round."""

import contextlib
import functools
import json
import os
import statistics
import subprocess
import tempfile

import footprint
import loads
import servers
from loads import BUSY, ECHO, MESSAGE, READ, ROW, ROW_MESSAGE, TEXT, UPLOAD, check_bodies, check_replies, framed, h2load
from report import HEADING, Series, result

FRAMED = len(framed(MESSAGE))
ROW_REPLY = b"\x0a\x3e" + str(ROW).rjust(62, "x").encode()
BODY, LARGE_BODY = 64 << 10, 1 << 20


class Programs:
    """What is measured and measures, each built when first asked for."""

    ours = functools.cached_property(lambda self: servers.build_ours())
    sessions = functools.cached_property(lambda self: servers.build_sessions())
    jobs = functools.cached_property(lambda self: servers.build_release("bench-jobs"))
    onboarding = functools.cached_property(lambda self: servers.build_release("parley-onboarding"))
    onboarding_load = functools.cached_property(lambda self: servers.build_release("bench-onboarding"))
    auth = functools.cached_property(lambda self: servers.build_release("parley-auth"))
    sandbox = functools.cached_property(lambda self: servers.build_release("parley-sandbox"))
    calls_load = functools.cached_property(lambda self: servers.build_release("bench-calls"))
    floor = functools.cached_property(lambda self: servers.build_c_floor())
    grpc_cpp = functools.cached_property(lambda self: servers.build_grpc_cpp())
    unary_load = functools.cached_property(lambda self: servers.build_unary_load())
    stream_load = functools.cached_property(lambda self: servers.build_stream_load())
    allocation_counter = functools.cached_property(lambda self: servers.build_allocation_counter())


def in_turns(title: str, rounds: int, contestants: dict, measure) -> dict[str, list]:
    """`rounds` times each contestant, the first one first and then the last one first. Replies are compared before and after."""
    runs: dict[str, list] = {name: [] for name in contestants}
    for number in range(rounds):
        order = list(contestants) if number % 2 == 0 else list(reversed(contestants))
        for name in order:
            server = contestants[name]
            check_replies(server, ECHO, MESSAGE, MESSAGE)
            runs[name].append(measure(name, server))
            check_replies(server, ECHO, MESSAGE, MESSAGE)
        print(f"bench: {title}: round {number + 1} of {rounds}", flush=True)
    return runs


def table(title: str, rows: list[tuple[str, Series]]) -> None:
    print(f"\n{title}\n{HEADING}")
    for name, series in rows:
        print(series.row(name))
    print(flush=True)


def beside(all_series: dict[str, Series], name: str) -> tuple[str | None, Series | None]:
    """What a result stands beside, if it was measured."""
    return (name.lower().replace(" ", "_").replace("+", "p"), all_series[name]) if name in all_series else (None, None)


def series(unit: str, runs: dict[str, list], value) -> dict[str, Series]:
    return {name: Series(unit, [value(run) for run in of]) for name, of in runs.items()}


def servers_of(stack: contextlib.ExitStack, programs: Programs, **options) -> dict[str, servers.Server]:
    """The three that do the same."""
    found = {"C floor": servers.c_floor(programs.floor, **options), "parley": servers.ours(programs.ours, **options)}
    if programs.grpc_cpp:
        found["gRPC C++"] = servers.grpc_cpp(programs.grpc_cpp, **options)
    for server in found.values():
        stack.enter_context(server)
    return found


# What a server many times slower is asked for less, so that a round stays short.
def share(name: str, amount: int) -> int:
    return max(1, amount // 20) if name.startswith("gRPC C++") else amount


# MARK: one message each way


def ask(server, requests: int, connections: int, streams: int, **options) -> loads.Run:
    size = FRAMED if server.grpc else len(MESSAGE)
    return h2load(server, ECHO, MESSAGE, size, requests=requests, connections=connections, streams=streams, **options)


def measure_unary(options, programs: Programs, raw: dict) -> list[dict]:
    results = []
    with contextlib.ExitStack() as stack:
        plain = servers_of(stack, programs)
        plain["nghttpd"] = stack.enter_context(servers.nghttpd(ECHO, TEXT + b"ok"))
        if "unary_tls" in options.cases:
            plain["parley TLS"] = stack.enter_context(servers.ours(programs.ours, tls=True))
        if "auth_session_check" in options.cases:
            plain["parley session"] = stack.enter_context(servers.sessions(programs.sessions))
        if {"unary_h2c", "unary_tls", "auth_session_check"} & set(options.cases):
            for name, server in plain.items():
                ask(server, share(name, 50_000), 10, 100)
            runs = in_turns("10 connections x 100 streams", options.rounds, plain,
                            lambda name, server: ask(server, share(name, options.requests), 10, 100))
            cpu = series("us CPU/RPC", runs, lambda run: run.cpu_us)
            raw["unary"] = {name: of.values for name, of in cpu.items()}
            table("Unary echo of 64 bytes, 10 connections x 100 streams, one loop",
                  [*cpu.items(), *series("RPC/s", runs, lambda run: run.per_second).items()])
            if "unary_h2c" in options.cases:
                results.append(result("unary_h2c", cpu["parley"], "lower", "c_floor", cpu["C floor"], 1.6))
            if "unary_tls" in options.cases:
                results.append(result("unary_tls", cpu["parley TLS"], "lower", "unary_h2c", cpu["parley"], 1.25))
        if "auth_session_check" in options.cases:
            results.append(measure_sessions(options, programs, raw, {name: plain[name] for name in ("parley", "parley session")}))
        if "unary_h2c_1x1" in options.cases:
            single = {name: server for name, server in plain.items() if name not in ("parley TLS", "parley session")}
            for server in single.values():
                ask(server, 1_000, 1, 1)
            runs = in_turns("1 connection x 1 stream", options.rounds, single,
                            lambda name, server: ask(server, 10_000, 1, 1, latencies=True))
            p50 = series("us p50", runs, lambda run: run.p50_us)
            raw["unary_1x1"] = {name: of.values for name, of in p50.items()}
            table("Unary echo of 64 bytes, 1 connection x 1 stream", list(p50.items()))
            results.append(result("unary_h2c_1x1", p50["parley"], "lower", "c_floor", p50["C floor"], 1.2))
    return results


def measure_sessions(options, programs: Programs, raw: dict, both: dict) -> dict:
    """The echo and the echo behind the guard of sessions, by a client that compresses headers as gRPC clients do. h2load spells the
    token out in every call, so that unpacking it, which no service can help, costs more than the check."""
    def ask_indexed(_, server) -> loads.Run:
        return loads.unary_load(programs.unary_load, server, ECHO, MESSAGE, requests=options.requests)

    for server in both.values():
        loads.unary_load(programs.unary_load, server, ECHO, MESSAGE, requests=50_000)
    runs = in_turns("with sessions", options.rounds, both, ask_indexed)
    cpu = series("us CPU/RPC", runs, lambda run: run.cpu_us)
    raw["auth_session_check"] = {name: of.values for name, of in cpu.items()}
    table("The same with compressed request headers, without and with a session", list(cpu.items()))
    return result("auth_session_check", cpu["parley session"], "lower", "unary_h2c", cpu["parley"], 1.3)


def measure_loops(options, programs: Programs, raw: dict) -> list[dict]:
    """Two loops against one. There are two cores and the load needs one of them now and then, so the handler works for some tens of
    microseconds: the load's share is then small. It is not subtracted; the ratio would be higher by it."""
    message, reply = b"\x18" + loads.varint(15_000), b"\x18\x01"
    with servers.ours(programs.ours) as one, servers.ours(programs.ours, loops=2, core=None) as two:
        def busy(server) -> loads.Run:
            core = loads.LOAD_CORE if server is one else None
            return h2load(server, BUSY, message, len(framed(reply)), requests=40_000, connections=20, streams=10, core=core)

        def plain(server) -> loads.Run:
            core = loads.LOAD_CORE if server is one else None
            return ask(server, options.requests // 2, 20, 100, core=core)

        contestants = {"1 loop": one, "2 loops": two}
        runs = in_turns("two loops", options.rounds, contestants, lambda _, server: (busy(server), plain(server)))
    rate = series("RPC/s", runs, lambda run: run[0].per_second)
    cpu = series("us CPU/RPC, plain echo", runs, lambda run: run[1].cpu_us)
    raw["unary_2_loops"] = {name: of.values for name, of in rate.items()}
    table("Handlers that work for 30 us, one loop and two; below, what a plain echo costs with each", [*rate.items(), *cpu.items()])
    return [result("unary_2_loops", rate["2 loops"], "higher", "1_loop", rate["1 loop"], 1.7)]


def measure_reads(options, programs: Programs, raw: dict) -> list[dict]:
    """Client, server and database of both contestants have the same cores, which is all of them, and how busy those were is kept: a
    database that has to share its core with one contestant's client alone measures that client. The server has a loop for each core, as
    services have by default. The client is as lean as pgbench; beside it stands the rate by h2load, which spends several times the CPU on
    a call."""
    folder = subprocess.run("printf '%s\\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1", shell=True, check=True,
                            capture_output=True, text=True).stdout.strip()
    with servers.Database(core=None) as database, tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("\\set id random(1, 10000)\n\\startpipeline\n" + "select text from item where id = :id;\n" * 8 + "\\endpipeline\n")
        script.flush()
        with servers.ours(programs.ours, database=database.url, core=None, loops=os.cpu_count() or 1) as server:
            def lean(requests: int) -> loads.Run:
                return loads.unary_load(programs.unary_load, server, READ, ROW_MESSAGE, reply=ROW_REPLY, requests=requests, core=None)

            def common(requests: int) -> loads.Run:
                return h2load(server, READ, ROW_MESSAGE, len(framed(ROW_REPLY)), requests=requests, connections=10, streams=100, core=None)

            def reads(ask, requests: int) -> tuple[float, list[int], float]:
                check_replies(server, READ, ROW_MESSAGE, ROW_REPLY)
                with loads.Cores() as cores:
                    run = ask(requests)
                check_replies(server, READ, ROW_MESSAGE, ROW_REPLY)
                return run.per_second, cores.percent, run.cpu_us

            def pgbench(seconds: int) -> tuple[float, list[int]]:
                binary = os.path.join(folder, "pgbench")
                with loads.Cores() as cores:
                    rate = loads.pgbench(binary, database.environment, script.name, seconds=seconds, core=None)
                return rate, cores.percent

            reads(lean, 20_000)
            reads(common, 20_000)
            pgbench(1)
            mine, others, theirs = [], [], []
            turns = [
                lambda: mine.append(reads(lean, options.requests * 2)), lambda: others.append(reads(common, options.requests // 2)),
                lambda: theirs.append(pgbench(3)),
            ]
            for number in range(options.rounds):
                for turn in turns if number % 2 == 0 else reversed(turns):
                    turn()
                print(f"bench: one primary-key read: round {number + 1} of {options.rounds}", flush=True)
    rate, queries = Series("RPC/s", [run[0] for run in mine]), Series("queries/s", [run[0] for run in theirs])
    by_h2load = Series("RPC/s", [run[0] for run in others])
    ratios = Series("x pgbench, round by round", [ours[0] / other[0] for ours, other in zip(mine, theirs)])
    cores = {"parley": [run[1] for run in mine], "pgbench": [run[1] for run in theirs]}
    raw["unary_pg_read"] = {"parley": rate.values, "pgbench": queries.values, "cores_percent": cores,
                            "parley_h2load": by_h2load.values}
    table("Unary with one primary-key read; pgbench: 8 clients, pipelines of 8; all on all cores",
          [("parley", rate), ("pgbench", queries), ("parley, loaded by h2load", by_h2load), ("ratio", ratios),
           ("parley", Series("us CPU/RPC", [run[2] for run in mine]))]
          + [(f"{name}, core {core}", Series("% busy", [run[core] for run in runs]))
             for name, runs in cores.items() for core in range(len(runs[0]))])
    said = result("unary_pg_read", rate, "higher", "pgbench_pipeline", queries, 0.70)
    said["ratio_least"] = round(min(ratios.values), 3)
    said["cores_percent"] = {name: [statistics.median(run[core] for run in runs) for core in range(len(runs[0]))]
                             for name, runs in cores.items()}
    return [said]


# MARK: streams

# Case: kind of the load client, messages on each of 10 x 10 streams (of 1 x 1), what is judged, the budget of it.
STREAMS = {
    "server_stream": ("flood", 50_000, "higher", 5),
    "server_stream_suspending": ("flood-suspending", 5_000, "higher", 1),
    "server_stream_one_write": ("flood-suspending", 100_000, "lower", None),
    "client_stream": ("drain", 50_000, "lower", 0.25),
    "bidi_pingpong": ("pingpong", 2_000, "lower", None),
}


def measure_streams(options, programs: Programs, raw: dict) -> list[dict]:
    results = []
    with contextlib.ExitStack() as stack:
        contestants = servers_of(stack, programs)
        for case in (name for name in STREAMS if name in options.cases):
            kind, messages, better, budget = STREAMS[case]
            across = 1 if case == "server_stream_one_write" else 10

            def stream(name: str, server) -> loads.StreamRun:
                # gRPC C++ writes every message by itself and waits until it is gone: its plain stream is both variants.
                asked = "flood" if name == "gRPC C++" else kind
                asked = asked if kind.startswith("flood") else kind
                run = loads.stream_load(programs.stream_load, server, asked, messages=share(name, messages), connections=across,
                                        streams=across)
                # A socket that is full for a moment gathers a few: that is the load's doing.
                if case == "server_stream_one_write" and run.frames < 0.9 * run.messages:
                    raise loads.Refused(f"{run.messages} messages of {name} came in {run.frames} frames")
                return run

            for name, server in contestants.items():
                stream(name, server)
            runs = in_turns(case, options.rounds, contestants, stream)
            cpu = series("us CPU/message", runs, lambda run: run.cpu_us)
            per_core = series("M messages/core-s", runs, lambda run: run.per_core_second)
            wall = series("M messages/s", runs, lambda run: run.messages / run.seconds / 1e6)
            raw[case] = {name: of.values for name, of in cpu.items()}
            table(f"{case}: messages of 64 bytes, {across} connections x {across} streams", [*cpu.items(), *wall.items()])
            judged = per_core if better == "higher" else cpu
            results.append(result(case, judged["parley"], better, "c_floor", judged["C floor"], budget, of_value=True))
    return results


# MARK: bodies


def measure_bodies(options, programs: Programs, raw: dict) -> list[dict]:
    results = []
    with contextlib.ExitStack() as stack:
        contestants = servers_of(stack, programs)
        for case, path, size, requests in (("echo_64kib", ECHO, BODY, 10_000), ("upload_1mib", UPLOAD, LARGE_BODY, 1_000)):
            if case not in options.cases:
                continue
            message = loads.with_body(size)
            reply = message if path == ECHO else b"\x18" + loads.varint(size)

            def move(_, server) -> loads.Run:
                check_bodies(server, size)
                return h2load(server, path, message, len(framed(reply)), requests=requests, connections=10, streams=4)

            for server in contestants.values():
                move("", server)
            runs = in_turns(case, options.rounds, contestants, move)
            cpu = series("us CPU/RPC", runs, lambda run: run.cpu_us)
            raw[case] = {name: of.values for name, of in cpu.items()}
            table(f"{case}: 10 connections x 4 streams", [*cpu.items(), *series("RPC/s", runs, lambda run: run.per_second).items()])
            if case == "echo_64kib":
                results.append(result(case, cpu["parley"], "lower", "c_floor", cpu["C floor"], 1.0))
            else:
                results.append(result(case, cpu["parley"], "lower", *beside(cpu, "gRPC C++"), 1.0 if programs.grpc_cpp else None))
    return results


def measure_jobs(options, programs: Programs, raw: dict) -> list[dict]:
    rounds = []
    with servers.Database(durable=True) as database:
        for number in range(options.rounds):
            said = subprocess.run([programs.jobs, "--database", database.url], check=True, capture_output=True, text=True, timeout=300)
            rounds.append(json.loads(said.stdout))
            print(f"bench: jobs: round {number + 1} of {options.rounds}", flush=True)
    rate = Series("jobs/s", [run["jobs_per_second"] for run in rounds])
    slowest = Series("ms", [run["job_pickup_p99_ms"] for run in rounds])
    raw["jobs"] = rounds
    table("Trivial jobs from enqueueing to end, and the pick-up of one by an idle worker; both cores, PostgreSQL durable",
          [("jobs per second", rate), ("pick-up, p99", slowest), ("pick-up, p50", Series("ms", [run["job_pickup_p50_ms"] for run in rounds]))])
    return [result("jobs_per_second", rate, "higher", None, None, 5_000), result("job_pickup_p99_ms", slowest, "lower", None, None, 50)]


def measure_calls(options, programs: Programs, raw: dict) -> list[dict]:
    """What real calls take of the processors, by the scheduler's count of the service and of all of PostgreSQL's processes."""
    command = [programs.calls_load, "--auth", programs.auth, "--onboarding", programs.onboarding]
    # Each run is five batches of each call already.
    rounds, wanted = [], min(options.rounds, 3)
    with servers.Database(durable=True) as database:
        for number in range(wanted):
            environment = {"PARLEY_TEST_DATABASE_URL": database.url, "PARLEY_TEST_BINARIES": os.path.dirname(programs.sandbox)}
            said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=900, env={**os.environ, **environment})
            rounds.append(json.loads(said.stdout))
            print(f"bench: calls: round {number + 1} of {wanted}", flush=True)
    raw["calls"] = rounds

    def found(unit: str, *path: str) -> Series:
        return Series(unit, [functools.reduce(lambda value, name: value[name], path, run) for run in rounds])

    for load, title in (("alone", "by one caller, one after the other"), ("saturated", "by sixteen callers at once")):
        rows = [(f"{name}: {part}", found("us", "calls", name, load, key)) for name in rounds[0]["calls"]
                for part, key in (("service", "service_us"), ("PostgreSQL", "postgres_us"), ("p50", "p50_us"))]
        table(f"CPU of a call {title}; and its time", rows)
    parts = (("service", "service_ms"), ("its children", "children_ms"), ("PostgreSQL", "postgres_ms"))
    table("CPU of a submission of 33 answers with 15 recordings: the call, and all that comes of it",
          [(f"{what}: {part}", found("ms", "submission", name, key)) for what, name in (("Complete", "complete"), ("to its end", "whole"))
           for part, key in parts])
    costs = [sum(cost["saturated"][key] for cost in run["calls"].values() for key in ("service_us", "postgres_us")) for run in rounds]
    calls = result("call_costs", Series("us CPU, all calls", costs), "lower", None, None, None)
    calls["calls"] = {name: {load: {key: round(found("us", "calls", name, load, key).median, 1) for key in cost} for load, cost in loads.items()}
                      for name, loads in rounds[0]["calls"].items()}
    whole = [sum(run["submission"]["whole"].values()) for run in rounds]
    submission = result("submission_cpu_ms", Series("ms CPU", whole), "lower", None, None, None)
    submission["parts"] = {name: {key: round(found("ms", "submission", name, key).median, 1) for _, key in parts} for name in ("complete", "whole")}
    return [calls, submission]


# MARK: what is not speed


def measure_onboarding(options, programs: Programs, raw: dict) -> list[dict]:
    rounds = []
    with servers.Database(durable=True) as database:
        for number in range(options.rounds):
            # Its clusters, users and processes are gone when it ends.
            said = subprocess.run([programs.onboarding_load, "--service", programs.onboarding], check=True, capture_output=True, text=True,
                                  timeout=600, env={**os.environ, "PARLEY_TEST_DATABASE_URL": database.url})
            rounds.append(json.loads(said.stdout))
            print(f"bench: onboarding: round {number + 1} of {options.rounds}", flush=True)

    def found(unit: str, name: str) -> Series:
        return Series(unit, [run[name] for run in rounds])

    uploads, rest = found("MiB", "upload_mib"), found("x", "complete_rest_x")
    grpc, three = found("x", "complete_grpc_x"), found("x", "complete_three_x")
    raw["onboarding"] = rounds
    table("Resident memory of parley-onboarding beyond what it has when idle, at its peak", [
        ("20 uploads of 10 MiB at once", uploads), ("one Complete of 64 MiB, gRPC, in its size", grpc),
        ("the same by REST", rest), ("three of them at once", three)])
    return [result("onboarding_upload_mib", uploads, "lower", None, None, 64, of_value=True),
            result("onboarding_complete_x", grpc, "lower", None, None, 4, of_value=True),
            result("onboarding_complete_rest_x", rest, "lower", None, None, 4, of_value=True),
            # Two have their turn at once, at 4 each; without turns three that keep their own budget would be at 9 already.
            result("onboarding_complete_three_x", three, "lower", None, None, 8, of_value=True)]


def measure_idle(options, programs: Programs, raw: dict) -> list[dict]:
    results = []
    for case, tls, budget in (("idle_connection_bytes", False, 20_000), ("idle_connection_bytes_tls", True, 50_000)):
        if case not in options.cases:
            continue
        makers = {"parley": lambda: servers.ours(programs.ours, tls=tls)}
        if programs.grpc_cpp:
            makers["gRPC C++"] = lambda: servers.grpc_cpp(programs.grpc_cpp, tls=tls)
        if not tls:
            makers["C floor"] = lambda: servers.c_floor(programs.floor)
        taken: dict[str, list[float]] = {name: [] for name in makers}
        for number in range(3):
            for name, make in makers.items():
                with make() as server:
                    taken[name].append(footprint.idle_bytes(server))
            print(f"bench: {case}: round {number + 1} of 3", flush=True)
        kept = {name: Series("bytes", values) for name, values in taken.items()}
        raw[case] = taken
        table(f"{case}: resident memory per idle connection, of 1,000 that each had a call", list(kept.items()))
        results.append(result(case, kept["parley"], "lower", *beside(kept, "gRPC C++" if tls else "C floor"), budget, of_value=True))
    return results


def measure_allocations(options, programs: Programs, raw: dict) -> list[dict]:
    counter = programs.allocation_counter
    makers = {"parley": lambda environment: servers.ours(programs.ours, environment=environment),
              "C floor": lambda environment: servers.c_floor(programs.floor, environment=environment)}
    if programs.grpc_cpp:
        makers["gRPC C++"] = lambda environment: servers.grpc_cpp(programs.grpc_cpp, environment=environment)
    counted = {name: Series("allocations/RPC", [footprint.allocations(make, counter)]) for name, make in makers.items()}
    raw["allocations_per_rpc"] = {name: of.values for name, of in counted.items()}
    table("Allocations per unary call, 10 connections x 100 streams", list(counted.items()))
    return [result("allocations_per_rpc", counted["parley"], "lower", "c_floor", counted["C floor"], 10, of_value=True)]


def measure_start(options, programs: Programs, raw: dict) -> list[dict]:
    commands = {"parley": footprint.start_command(programs.ours, "--loops", "1"), "C floor": footprint.start_command(programs.floor)}
    if programs.grpc_cpp:
        commands["gRPC C++"] = footprint.start_command(programs.grpc_cpp)
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(max(9, options.rounds)):
        for name, command in commands.items():
            taken[name].append(footprint.start_ms(command))
    started = {name: Series("ms", values) for name, values in taken.items()}
    raw["startup_ms"] = taken
    table("From exec to the answer to a first call, without a database", list(started.items()))
    return [result("startup_ms", started["parley"], "lower", "c_floor", started["C floor"], 20, of_value=True)]


def measure_build(options, programs: Programs, raw: dict) -> list[dict]:
    print("bench: release build of parley-auth from nothing", flush=True)
    seconds, megabytes = servers.clean_build()
    took, size = Series("s", [seconds]), Series("MB", [megabytes])
    table("Release build of parley-auth from nothing, and its binary, stripped", [("swift build", took), ("parley-auth", size)])
    return [result("release_build_s", took, "lower", None, None, 120), result("release_binary_mb", size, "lower", None, None, 20)]


GROUPS = [
    (("unary_h2c", "unary_tls", "unary_h2c_1x1", "auth_session_check"), measure_unary),
    (("unary_pg_read",), measure_reads),
    (("unary_2_loops",), measure_loops),
    (tuple(STREAMS), measure_streams),
    (("echo_64kib", "upload_1mib"), measure_bodies),
    (("jobs_per_second", "job_pickup_p99_ms"), measure_jobs),
    (("onboarding_upload_mib", "onboarding_complete_x", "onboarding_complete_rest_x", "onboarding_complete_three_x"), measure_onboarding),
    (("call_costs", "submission_cpu_ms"), measure_calls),
    (("idle_connection_bytes", "idle_connection_bytes_tls"), measure_idle),
    (("allocations_per_rpc",), measure_allocations),
    (("startup_ms",), measure_start),
    (("release_build_s", "release_binary_mb"), measure_build),
]
NAMES = [name for names, _ in GROUPS for name in names]

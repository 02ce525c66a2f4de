"""Measures the runtime beside the C floor, gRPC C++, nghttpd and pgbench, in one run, round by round in turns.

  bench.py run [--rounds N] [--cases a,b] [--without-build]   the table and .local/bench/results.json
  bench.py check [--record]                                   instructions per call against thresholds.json

A server runs on core 0, what loads it on core 1. Turns cancel the machine's drift; medians are compared, as ratios.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

import cases
import loads
import servers
from loads import ECHO, MESSAGE, check_replies, framed, h2load
from report import summary, write

FRAMED = len(framed(MESSAGE))
THRESHOLDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "thresholds.json")


def run(options) -> int:
    os.makedirs(servers.WORK, exist_ok=True)
    subprocess.run(["deploy/local/certificates.sh", servers.TLS], cwd=servers.TOP, check=True)
    # A thousand connections at both ends: servers inherit it.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8_192) if most != resource.RLIM_INFINITY else 8_192, most))
    results, raw = [], {}
    programs = cases.Programs()
    for names, measure in cases.GROUPS:
        if set(names) & set(options.cases):
            results += measure(options, programs, raw)
            # As it goes: a later failure does not lose what was measured.
            results.sort(key=lambda item: cases.NAMES.index(item["name"]))
            write(os.path.join(servers.WORK, "results.json"), results)
            write(os.path.join(servers.WORK, "rounds.json"), raw)
    print(summary(results))
    # A missed budget is a finding, said by "ok": false; only a measurement that could not be made is a failure.
    return 0


def by_h2load(server, requests: int) -> None:
    h2load(server, ECHO, MESSAGE, FRAMED, requests=requests, connections=10, streams=100, core=None)


def instructions(make, binary: str, ask=by_h2load) -> float:
    """Instructions per unary call under callgrind: the difference of two run lengths, so that start-up does not count. How many
    calls come with one read is up to the kernel and worth 3 %, hence the least of three."""
    return min(instructions_once(make, binary, ask) for _ in range(3))


def instructions_once(make, binary: str, ask) -> float:
    counts = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        stripped = os.path.join(folder, os.path.basename(binary))
        subprocess.run(["strip", "-o", stripped, binary], check=True)
        for requests in (4_000, 12_000):
            out = os.path.join(folder, f"callgrind.{requests}")
            under = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
            with make(stripped, core=None, under=under) as server:
                check_replies(server, ECHO, MESSAGE, MESSAGE)
                ask(server, requests)
            with open(out) as file:
                counts.append((requests, int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE)[1])))
    (few, low), (many, high) = counts
    return (high - low) / (many - few)


def check(options) -> int:
    os.makedirs(servers.WORK, exist_ok=True)
    with open(THRESHOLDS) as file:
        thresholds = json.load(file)
    measured = {"c_floor": instructions(servers.c_floor, servers.build_c_floor())}
    if not options.floor_only:
        measured["unary"] = instructions(servers.ours, servers.build_ours())
        # With compressed request headers, as the case auth_session_check.
        program = servers.build_unary_load()
        measured["session"] = instructions(
            servers.sessions, servers.build_sessions(),
            lambda server, requests: loads.unary_load(program, server, ECHO, MESSAGE, requests=requests, core=None))
    failed = 0
    for name, value in measured.items():
        limit = thresholds["instructions_per_rpc"].get(name)
        if name == "c_floor":
            print(f"bench-check: C floor {value:.0f} instructions per call (for comparison)")
        elif limit is None:
            print(f"bench-check: {name}: {value:.0f} instructions per call, and no threshold is recorded; use --record")
            failed = 1
        else:
            over = value > limit * (1 + thresholds["tolerance"])
            print(f"bench-check: {name}: {value:.0f} instructions per call, threshold {limit} {'EXCEEDED' if over else 'kept'}")
            failed |= over
    if options.record:
        thresholds["instructions_per_rpc"].update({name: round(value) for name, value in measured.items()})
        write(THRESHOLDS, thresholds)
        return 0
    return int(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run")
    running.add_argument("--rounds", type=int, default=7)
    running.add_argument("--requests", type=int, default=300_000, help="per round at 10 x 100")
    running.add_argument("--cases", type=lambda text: text.split(","), default=list(cases.NAMES))
    running.add_argument("--without-build", action="store_true", help="leaves the clean build out")
    checking = actions.add_parser("check")
    checking.add_argument("--record", action="store_true", help="writes what was measured as the new threshold")
    checking.add_argument("--floor-only", action="store_true", help="measures the C floor alone")
    options = parser.parse_args()
    if options.action == "check":
        return check(options)
    if unknown := set(options.cases) - set(cases.NAMES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if options.rounds < 1:
        parser.error("at least one round")
    if options.without_build:
        options.cases = [case for case in options.cases if not case.startswith("release_")]
    return run(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except loads.Refused as refusal:
        sys.exit(f"bench: {refusal}")

"""Loads two services with mixed calls for a while and judges whether they stay as they are.

  soak.py [--minutes 10] [--share 0.6]

bench-server (core 0, with a database) gets unary calls, reads by primary key and streams of each kind, at 60 % of what it could
do; parley-auth, with a database and a sandbox, exchanges tokens, at 20 % and at most 200 a second. Calls begin by the clock, so that
a server that falls behind shows it in its times. Every byte of bench-server's answers is compared, every call of either must succeed.
Meanwhile people sign in to parley-auth, refresh, call with their sessions and leave, each second some: see people.py.

A line is printed each minute. The last line is the verdict; exits 1 when one of these does not hold after the warm-up (a quarter
of the time, at least a minute):
  memory       the slope of anonymous resident memory, sampled each 2 s, is below 1 MB an hour. The slope is Theil and Sen's: the
               median of the slopes between all pairs of samples, which single steps and outliers do not move. Its 95 % interval is
               that of Kendall's rank statistic, over means of 30 s, which are less dependent on each other than samples are. Only
               a slope whose whole interval is above the bound is a violation; the half width says what a run can resolve.
  descriptors  no more in the last quarter than in the first
  time         the median of the p99 per minute in the last third is at most twice that of the first third, and 2 ms
  people       every answer was the one that is due
  tables       in each table of parley-auth that is swept no row is left that ran out longer ago than a sweep takes to come by, at no
               sample of the last half; what such a table holds is what has not run out yet. All tables are counted at the start, in
               the middle and at the end; those that are never swept (accounts, and what is append only) grow with what is done.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import cases
import loads
import people
import servers

BOUND = 1.0  # MB an hour
MIX = "unary=60,read=25,flood=5,drain=5,pingpong=5"
MESSAGES = 50
SAMPLE, CHUNK = 2.0, 30.0
# More verified access tokens than a loop of parley-auth remembers: what it keeps of them has its full size from the start.
REMEMBERED = 9_000


def anonymous_mb(pid: int) -> float:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:")) / 1024


def theil_sen(points: list[tuple[float, float]]) -> tuple[float, float, float]:
    """The median slope between pairs, and its 95 % interval."""
    slopes = sorted((y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1:])
    if not slopes:
        return 0.0, -math.inf, math.inf
    n = len(points)
    reach = 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low, high = int((len(slopes) - reach) / 2), int(math.ceil((len(slopes) + reach) / 2))
    return (statistics.median(slopes), slopes[low] if low >= 0 else -math.inf, slopes[high] if high < len(slopes) else math.inf)


class Watched:
    """One server under load: what is known of it, and what the load client says."""

    def __init__(self, name: str, pid: int, port: int, arguments: list[str]):
        self.name, self.pid, self.port, self.arguments = name, pid, port, arguments
        self.samples: list[tuple[float, float, int]] = []  # s, MB, descriptors
        self.minutes: list[dict] = []
        self.failure: str | None = None
        self.total: dict | None = None

    def command(self, program: str, rate: float, seconds: float, report: float) -> list[str]:
        return loads.on_core(loads.LOAD_CORE, program, "--port", str(self.port), "--rate", f"{rate:.0f}", "--seconds", f"{seconds:.0f}",
                             "--report", f"{report:.0f}", *self.arguments)

    def burst(self, program: str) -> None:
        """Far more at once than the paced load has: what is kept for reuse has its full size afterwards, and does not look like a
        leak when a busy machine makes calls pile up."""
        generic = self.arguments[1] == "generic"
        for kind in ("generic",) if generic else ("unary", "read", "flood", "drain", "pingpong"):
            fixed = [part for pair in zip(self.arguments[::2], self.arguments[1::2]) if pair[0] not in ("--mix", "--connections", "--messages")
                     for part in pair]
            subprocess.run(loads.on_core(loads.LOAD_CORE, program, "--port", str(self.port), "--kind", kind, "--connections", "4" if generic
                                         else "10", "--streams", "25" if generic else "400", "--messages", str(MESSAGES), *fixed),
                           check=True, stdout=subprocess.DEVNULL, timeout=300)

    def calibrate(self, program: str, beside: list[int]) -> float:
        """Calls per second that the busier of the two cores could do, from what a few thousand cost."""
        seconds, before = 4, loads.cpu_ns(self.pid)
        others = sum(cpu_of_family(pid) for pid in beside)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(self.command(program, self.trial, seconds, seconds + 1), check=True, stdout=subprocess.DEVNULL, timeout=120)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        load = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
        load += sum(cpu_of_family(pid) for pid in beside) - others
        return self.trial * seconds / max((loads.cpu_ns(self.pid) - before) / 1e9, load)

    trial = 2_000

    def load(self, program: str, rate: float, seconds: float, on_minute) -> threading.Thread:
        def run():
            with subprocess.Popen(self.command(program, rate, seconds, 60), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as process:
                for line in process.stdout:
                    said = json.loads(line)
                    if said.get("total"):
                        self.total = said
                    else:
                        self.minutes.append(said)
                        on_minute(self, said)
                error = process.stderr.read()
            if process.returncode or not self.total:
                self.failure = error.strip() or f"the load client ended with {process.returncode}"

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def sample(self, at: float) -> None:
        try:
            self.samples.append((at, anonymous_mb(self.pid), len(os.listdir(f"/proc/{self.pid}/fd"))))
        except (FileNotFoundError, ProcessLookupError, StopIteration):
            self.failure = self.failure or "the server is gone"

    def verdict(self, seconds: float) -> list[tuple[bool, str]]:
        warm = max(60.0, seconds / 4)
        steady = [sample for sample in self.samples if sample[0] >= warm]
        if self.failure or len(steady) < 20:
            return [(False, self.failure or "too few samples to judge")]
        chunks: dict[int, list[tuple[float, float]]] = {}
        for at, memory, _ in steady:
            chunks.setdefault(int(at / CHUNK), []).append((at / 3600, memory))
        means = [(statistics.mean(x for x, _ in chunk), statistics.mean(y for _, y in chunk)) for chunk in chunks.values()]
        slope, low, high = theil_sen(means)
        has_interval = math.isfinite(low) and math.isfinite(high)
        resolved = "no interval: too short" if not has_interval else f"95 % within {low:+.2f} to {high:+.2f}"
        resident = [memory for _, memory, _ in steady]
        # Without an interval only the slope itself is left to judge, and with it the noise.
        grows = low > BOUND if has_interval else slope > BOUND and resident[-1] - resident[0] > 1
        found = [(not grows, f"memory {slope:+.2f} MB/h ({resolved}; {min(resident):.1f} to {max(resident):.1f} MB)")]
        quarter = max(1, len(steady) // 4)
        early, late = (max(count for _, _, count in part) for part in (steady[:quarter], steady[-quarter:]))
        found.append((late <= early, f"descriptors {early} then {late}"))
        p99 = [minute["p99_us"] / 1000 for minute in self.minutes[int(warm // 60):]]
        third = max(1, len(p99) // 3)
        if p99:
            early_p99, late_p99 = statistics.median(p99[:third]), statistics.median(p99[-third:])
            found.append((late_p99 <= 2 * early_p99 + 2, f"p99 {early_p99:.1f} then {late_p99:.1f} ms"))
        return found


def cpu_of_family(pid: int) -> float:
    """CPU seconds of a process, of its children, and of those that they had and lost."""
    def of(one: int) -> float:
        try:
            with open(f"/proc/{one}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
        except FileNotFoundError:
            return 0.0

    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return of(pid) + sum(of(int(child)) for child in file.read().split())


def auth_under_load(stack_module, folder: str, counter: dict) -> Watched:
    """parley-auth with limits out of the way: a hundred people exchange tokens in turn."""
    stack = stack_module.Stack(settings={
        "PARLEY_AUTH_RATE_PER_MIN": "1000000", "PARLEY_AUTH_RATE_BURST": "1000000", "PARLEY_AUTH_IP_RATE_PER_MIN": "1000000",
        "PARLEY_AUTH_IP_BURST": "1000000", "PARLEY_AUTH_ISSUES_PER_DAY": "0", **people.SETTINGS})
    counter["stack"] = stack
    bearers, body = os.path.join(folder, "bearers"), os.path.join(folder, "empty")
    with open(bearers, "w") as file:
        file.write("".join(token + "\n" for token in stack.id_tokens([{"sub": f"soak-{number}"} for number in range(100)])))
    with open(body, "w"):
        pass
    auth = stack.copies[0]
    watched = Watched("parley-auth", auth.pid, auth.ports["grpc"], [
        "--mix", "generic", "--path", stack_module.CALL + "ExchangeToken", "--body", body, "--bearers", bearers, "--connections", "4"])
    watched.trial = 100
    return watched


def soak(options) -> int:
    programs = cases.Programs()
    program = programs.stream_load
    server_binary = programs.ours
    if not os.environ.get("PARLEY_TEST_BINARIES"):
        for product in ("parley-auth", "parley-sandbox"):
            servers.build_release(product)
        os.environ["PARLEY_TEST_BINARIES"] = os.path.join(servers.TOP, ".build-release/release")
    sys.path.insert(0, os.path.join(servers.TOP, "Tests/Clients"))
    import stack as stack_module

    seconds = options.minutes * 60
    kept: dict = {}
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, servers.Database() as database, \
                servers.ours(server_binary, database=database.url, log=os.devnull) as server:
            with open(os.path.join(os.path.dirname(database.environment["PGHOST"]), "data/postmaster.pid")) as file:
                postmaster = int(file.readline())
            bench = Watched("bench-server", server.pid, server.port, ["--mix", MIX, "--messages", str(MESSAGES)])
            auth = auth_under_load(stack_module, folder, kept)
            crowd = kept["people"] = people.People(kept["stack"])
            print(f"soak: people with seed {crowd.seed}", flush=True)
            crowd.warm_up(remembered=REMEMBERED)
            rates = {}
            for watched, part, most in ((bench, options.share, math.inf), (auth, options.share / 3, 200)):
                watched.burst(program)
                capacity = watched.calibrate(program, [postmaster] if watched is bench else [])
                rates[watched.name] = min(capacity * part, most)
                print(f"soak: {watched.name}: about {capacity:.0f} calls/s possible, {rates[watched.name]:.0f} made", flush=True)
            return watch([bench, auth], rates, program, seconds, Tables(crowd, seconds))
    finally:
        if "people" in kept:
            kept["people"].end()
        if "stack" in kept:
            kept["stack"].stop()


class Tables:
    """The tables of parley-auth while people come and go."""

    def __init__(self, crowd: people.People, seconds: float):
        self.crowd, self.seconds = crowd, seconds
        self.counts: list[tuple[float, dict[str, int]]] = []
        self.overdue: dict[str, int] = {}
        self.checks = 0
        self.failure: str | None = None

    def start(self) -> None:
        self.crowd.seed_tables()
        self.counts.append((0, self.crowd.rows()))
        self.crowd.start()

    def sample(self, at: float) -> None:
        """Once in the middle for the table; every 30 s of the last half for what should be gone."""
        try:
            if len(self.counts) == 1 and at >= self.seconds / 2:
                self.counts.append((at, self.crowd.rows()))
            if at >= self.seconds / 2 + 30 * self.checks:
                self.checks += 1
                for table, count in self.crowd.overdue().items():
                    self.overdue[table] = max(self.overdue.get(table, 0), count)
        except AssertionError as error:
            self.failure = self.failure or str(error)

    def end(self) -> list[tuple[bool, str]]:
        self.crowd.end()
        self.counts.append((self.seconds, self.crowd.rows()))
        print("soak: rows of each table at the start, in the middle and at the end")
        for table in self.counts[-1][1]:
            swept = "swept" if table in people.SWEPT else ""
            print(f"soak:   {table:<28}" + "".join(f"{of.get(table, 0):>10}" for _, of in self.counts) + f"   {swept}")
        done = ", ".join(f"{count} {what}" for what, count in sorted(self.crowd.counts.items()))
        found = [(not self.crowd.failure, f"people: {done}" + (f"; {self.crowd.failure}" if self.crowd.failure else ""))]
        left = ", ".join(f"{table} {count}" for table, count in sorted(self.overdue.items()) if count)
        seeds = [of["session"] >= people.SEEDS for _, of in self.counts[:1]]
        found.append((self.checks > 2 and not left and all(seeds) and not self.failure,
                      f"tables: {self.checks} looks at what should be gone: {self.failure or left or 'nothing was left'}"))
        return found


def watch(all_watched: list[Watched], rates: dict, program: str, seconds: float, tables: Tables) -> int:
    lock = threading.Lock()

    def on_minute(watched: Watched, said: dict) -> None:
        _, memory, descriptors = watched.samples[-1] if watched.samples else (0, 0, 0)
        with lock:
            print(f"soak: minute {len(watched.minutes):>3} {watched.name:<13} {said['calls'] / said['seconds']:>8.0f} calls/s  p50 "
                  f"{said['p50_us'] / 1000:.2f} ms  p99 {said['p99_us'] / 1000:.2f} ms  memory {memory:.1f} MB  "
                  f"descriptors {descriptors}", flush=True)

    tables.start()
    began = time.monotonic()
    threads = [watched.load(program, rates[watched.name], seconds, on_minute) for watched in all_watched]
    while any(thread.is_alive() for thread in threads):
        at = time.monotonic() - began
        if at < seconds:
            for watched in all_watched:
                watched.sample(at)
            tables.sample(at)
        for thread in threads:
            thread.join(SAMPLE / len(threads))
    holds = True
    for watched in all_watched:
        calls = f", {watched.total['calls']} calls" if watched.total else ""
        for kept, what in watched.verdict(seconds):
            holds &= kept
            print(f"soak: {'ok  ' if kept else 'FAIL'} {watched.name}{calls}: {what}")
    for kept, what in tables.end():
        holds &= kept
        print(f"soak: {'ok  ' if kept else 'FAIL'} parley-auth, {what}")
    print("soak: everything held" if holds else "soak: something did not hold")
    return 0 if holds else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--share", type=float, default=0.6, help="of what bench-server could do; parley-auth gets a third of it")
    options = parser.parse_args()
    if options.minutes < 3:
        parser.error("at least 3 minutes: a warm-up, and something to judge")
    os.makedirs(servers.WORK, exist_ok=True)
    subprocess.run(["deploy/local/certificates.sh", servers.TLS], cwd=servers.TOP, check=True)
    return soak(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except loads.Refused as refusal:
        sys.exit(f"soak: {refusal}")

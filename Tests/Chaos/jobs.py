"""jobs.py [--seed N] [--jobs N] [--over S] [--only NAME,...]: workers of a queue are killed and stopped, PostgreSQL is restarted,
and in the end every job must have had each of its effects, once.

`make chaos` runs it after the faults (`ONLY=jobs` alone). README.md tells what it checks; `make test` runs a small course.
"""

import argparse
import csv
import io
import os
import random
import re
import secrets
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Clients"))

import isolation
from ground import ROOT, Program, await_true, run
from job_judge import judge

BINARIES = Path(os.environ.get("PARLEY_TEST_BINARIES") or ROOT / ".build/debug")
POSTGRES = Path(os.environ.get("PARLEY_TEST_POSTGRES_SCRIPT") or ROOT / "deploy/local/postgres.sh")
# The lease of production and one look are 21 s; this is what is promised.
PROMISE = 30


class Cluster:
    """A private PostgreSQL with the queue in one database and the world outside in another."""

    def __init__(self, folder, fast):
        self.environment = dict(os.environ, PARLEY_LOCAL=str(folder))
        self.fast = ["--fast"] if fast else []
        self.start()
        found = dict(re.findall(r"(\w+)='([^']*)'", self._script("env")))
        self.home = Path(found["PARLEY_POSTGRES_HOME"])
        self.port = (self.home / "port").read_text().strip()
        for database in ("chaos", "outside"):
            self.sql(f"create database {database}", "postgres")

    def _script(self, action, *more):
        return run([POSTGRES, action, "--dir", "jobs-postgres", *more], env=self.environment, seconds=120)

    def start(self):
        self._script("start", *self.fast)

    def stop(self):
        self._script("stop")

    def close(self):
        self._script("reset")

    def url(self, database):
        return f"postgresql://postgres@/{database}?host={self.home}/socket&port={self.port}"

    def sql(self, statement, database="chaos"):
        return run(["psql", "-w", "-XAtq", "-v", "ON_ERROR_STOP=1", self.url(database), "-c", statement]).strip()

    def table(self, query, database="chaos"):
        return list(csv.reader(io.StringIO(self.sql(f"copy ({query}) to stdout with (format csv)", database))))

    def kill(self):
        """SIGKILL to the server and all its children."""
        server = int((self.home / "data/postmaster.pid").read_text().split()[0])
        os.kill(server, signal.SIGSTOP)  # so that it starts no more children meanwhile
        for victim in [server, *map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())]:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Worker:
    """A place for a worker's process: when that is killed, the next one stands there under another name."""

    def __init__(self, course, number, lease, slowness):
        self.course, self.number, self.slowness = course, number, slowness
        self.lease = ["--lease", str(lease)] if lease else []
        self.starts = 0
        self.resumes_at = None
        self.start()

    def start(self):
        self.starts += 1
        self.name = f"worker-{self.number}.{self.starts}"
        self.program = self.course.program("work", self.name, "--name", self.name, "--slowness", str(self.slowness), *self.lease)

    @property
    def is_stopped(self):
        return self.resumes_at is not None

    def leases(self):
        """How many jobs are its own at this moment."""
        return int(self.course.cluster.sql(f"select count(*) from work.job where holder = '{self.name}'"))

    def kill(self):
        self.program.process.kill()
        self.program.process.wait()

    def stop_for(self, seconds):
        self.program.process.send_signal(signal.SIGSTOP)
        self.resumes_at = time.monotonic() + seconds

    def resume(self):
        self.resumes_at = None
        self.program.process.send_signal(signal.SIGCONT)


class Course:
    """One run: what is done to the workers, and what is left."""

    def __init__(self, folder, seed, fast=False):
        self.folder, self.seed = folder, seed
        self.chance = random.Random(seed)
        self.programs = []
        self.is_closed = False
        self.workers = []
        self.kills = self.stops = self.restarts = 0
        self.cut = 0  # leases in the hands of those that were killed or stopped
        self.cluster = Cluster(folder, fast)
        run([BINARIES / "job-worker", "prepare", *self.databases()], env={"PATH": os.environ["PATH"]})

    def databases(self):
        return ["--database", self.cluster.url("chaos"), "--outside", self.cluster.url("outside")]

    def program(self, action, name, *options):
        made = Program(
            name, self.folder / f"{name}.log", [BINARIES / "job-worker", action, *self.databases(), *options],
            {"PATH": os.environ["PATH"]})
        self.programs.append(made)
        return made

    def order(self, count, over, batch=20):
        return self.program(
            "order", f"orders-{len(self.programs)}", "--count", str(count), "--batch", str(batch), "--milliseconds",
            str(int(over * 1000)))

    def close(self):
        """Ends everything, once: another reset would leave folders behind."""
        if self.is_closed:
            return
        self.is_closed = True
        for program in self.programs:
            if program.runs:
                program.process.send_signal(signal.SIGCONT)
                program.process.kill()
                program.process.wait()
        self.cluster.close()

    # MARK: faults

    def run(self, jobs, over, lease, slowness, kills, stops, restarts):
        """At least so many jobs, ordered until the last fault is over; until none is left. Returns the verdict."""
        self.workers = [Worker(self, number, lease, slowness) for number in (1, 2, 3)]
        orders = self.order(jobs, over)
        faults = ["kill"] * kills + ["stop"] * stops + ["restart"] * restarts
        self.chance.shuffle(faults)
        began = time.monotonic()
        for place, fault in enumerate(faults):
            due = began + over * (place + self.chance.random()) / max(len(faults), 1)
            while time.monotonic() < due:
                self.tend()
                time.sleep(0.02)
            self.tend()
            getattr(self, fault)(lease)
        while any(worker.is_stopped for worker in self.workers):
            self.tend()
            time.sleep(0.02)
        ordered = self.close_orders(orders)
        await_true("every job is done", self.is_done, 300)
        ends = [self.end(worker) for worker in self.workers]
        verdict = self.judge(ordered)
        verdict.left += [f"a worker ended with {end}" for end in ends if end]
        return verdict

    def close_orders(self, orders):
        """Tells whoever orders that it is enough; how many there are."""
        orders.terminate()
        while orders.runs:
            self.tend()
            time.sleep(0.02)
        found = re.search(r"^ordered (\d+)$", orders.text(), re.MULTILINE)
        if orders.process.returncode or not found:
            raise AssertionError(f"the orders ended with {orders.process.returncode}: {orders.text()[-2000:]}")
        return int(found[1])

    def is_done(self):
        self.tend()
        return self.cluster.sql("select count(*) from work.job") == "0"

    @staticmethod
    def end(worker):
        worker.program.terminate()
        return worker.program.wait(60)

    def tend(self):
        """Lets go on what has stood still for long enough, and starts again what is gone."""
        for worker in self.workers:
            if worker.is_stopped and time.monotonic() >= worker.resumes_at:
                worker.resume()
            if not worker.program.runs:
                worker.start()

    def busy(self):
        """A worker that has leases now. One goes on, so that somebody is there to take what the others leave."""

        def found():
            self.tend()
            free = [worker for worker in self.workers if not worker.is_stopped and worker.program.runs]
            if len(free) < 2:
                return None
            self.chance.shuffle(free)
            for worker in free:
                if leases := worker.leases():
                    self.cut += leases
                    return worker
            return None

        return await_true("a worker has a lease", found, 60)

    def kill(self, _):
        self.busy().kill()
        self.kills += 1

    def stop(self, lease):
        """Past its lease, whatever of it was left."""
        self.busy().stop_for(lease * self.chance.uniform(1.2, 2))
        self.stops += 1

    def restart(self, _):
        if self.chance.random() < 0.5:
            self.cluster.kill()
        else:
            self.cluster.stop()
        time.sleep(self.chance.uniform(0, 1))
        self.cluster.start()
        self.restarts += 1

    # MARK: the end

    def judge(self, jobs):
        sql = self.cluster.sql
        left = [
            f"{count} in {table}" for table in ("job", "job_step", "dead_job")
            if (count := sql(f"select count(*) from work.{table}")) != "0"]
        return judge(
            jobs, [int(number) for number, in self.cluster.table("select number from work.ordered")],
            [(int(number), step, job, int(lease), int(kept)) for number, step, job, lease, kept in
             self.cluster.table("select number, step, job, lease, kept from work.effect")],
            [(key, int(number), int(lease)) for key, number, lease in
             self.cluster.table("select key, number, lease from charge order by at", "outside")], left)

    def rescue(self, lease):
        """Seconds from the SIGKILL of a worker that has a job until another one has done it; `lease` nothing: production's."""
        slow = Worker(self, 8, lease, 3_600_000)
        orders = self.order(1, 3_600, batch=1)
        await_true("the job is running", slow.leases, 60)
        heir = Worker(self, 9, lease, 0)
        await_true("the heir works", lambda: "works" in heir.program.text(), 60)
        # Its signs of life may have prolonged the lease up to now.
        slow.kill()
        killed = time.monotonic()
        await_true("the job is done", lambda: self.cluster.sql("select count(*) from work.job") == "0", 120)
        took = time.monotonic() - killed
        verdict = self.judge(self.close_orders(orders))
        if end := self.end(heir):
            raise AssertionError(f"the heir ended with {end}")
        if not verdict.is_clean():
            raise AssertionError(f"after a kill: {verdict}")
        return took


def parse():
    parser = argparse.ArgumentParser(description="Workers killed and stopped, PostgreSQL restarted: no job lost, none done twice.")
    parser.add_argument("--seconds", help="of the faults; not for this")
    parser.add_argument("--seed", default=None, help="what decides whom and when (default: another one each time)")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--over", type=float, default=75, help="seconds over which they are ordered and the faults come")
    parser.add_argument("--only", default="", help="runs if it is empty or names jobs")
    arguments = parser.parse_args()
    arguments.seed = arguments.seed or str(secrets.randbelow(10**6))
    return arguments


def main(arguments):
    folder = Path(os.environ[isolation.FOLDER])
    run(["ip", "link", "set", "lo", "up"])
    print(f"chaos jobs: seed {arguments.seed}, {arguments.jobs} jobs, three workers with a lease of 2 s", flush=True)
    wrong = True
    course = None
    try:
        place = folder / "jobs"
        place.mkdir(mode=0o755)
        course = Course(place, arguments.seed)
        began = time.monotonic()
        verdict = course.run(arguments.jobs, arguments.over, lease=2, slowness=200, kills=20, stops=15, restarts=4)
        for what in verdict.words():
            print(f"  WRONG: {what}", flush=True)
        took = time.monotonic() - began
        kills, stops, restarts, cut = course.kills, course.stops, course.restarts, course.cut
        rescues = folder / "rescue"
        rescues.mkdir(mode=0o755)
        course.close()
        course = Course(rescues, arguments.seed)
        rescued = course.rescue(None)
        if rescued > PROMISE:
            print(f"  WRONG: with the lease of production a killed worker's job was done after {rescued:.1f} s", flush=True)
        print(f"chaos jobs: {took:.0f} s, {cut} runs were cut off, {verdict.repeats} of {verdict.charges} provider calls "
              f"repeated under their key; with the lease of production a killed worker's job was done again after {rescued:.1f} s "
              f"({PROMISE} s is promised)", flush=True)
        print(f"chaos jobs: seed {arguments.seed}, {kills} kills, {stops} stops, {restarts} restarts, {verdict.jobs} jobs, "
              f"{len(verdict.lost)} lost, {len(verdict.doubled)} doubled", flush=True)
        wrong = not verdict.is_clean() or rescued > PROMISE
    finally:
        if course:
            course.close()
        if wrong:
            (folder / "keep").mkdir(exist_ok=True)
            print(f"chaos: the logs of the run are in {folder}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    settled = parse()
    if settled.only and "jobs" not in settled.only.split(","):
        sys.exit(0)
    if not isolation.is_inside():
        sys.exit(isolation.enter(__file__, [word for name, value in vars(settled).items() if value
                                            for word in (f"--{name}", str(value))]))
    isolation.become_first()
    main(settled)

"""chaos.py [--seconds S] [--seed N] [--only NAME[,NAME...]]: breaks one thing after the other under load, and looks what is left.

`make chaos` runs it; README.md tells what it checks.
"""

import argparse
import contextlib
import os
import random
import secrets
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Clients"))

import isolation

# A run shares its time among the faults: this much of each one's share is for getting well, judging and measuring.
CALM = 6


def parse():
    parser = argparse.ArgumentParser(description="Faults under load, and a ledger that says what was lost.")
    parser.add_argument("--seconds", type=int, help="for the whole run (default: 20 for each fault)")
    parser.add_argument("--seed", default=None, help="what decides when and where (default: another one each time)")
    parser.add_argument("--only", default="", help="faults by name, separated by commas")
    arguments = parser.parse_args()
    arguments.seed = arguments.seed or str(secrets.randbelow(10**6))
    return arguments


class Run:
    """One run: its ground, its load, and what went wrong."""

    def __init__(self, ground, load, ledger, seed):
        self.ground, self.load, self.ledger, self.seed = ground, load, ledger, seed
        self.wrong = []
        self.sizes = {}
        self.began = time.monotonic()

    def complain(self, what):
        print(f"  WRONG: {what}", flush=True)
        self.wrong.append(what)

    def warm_up(self):
        """Until every copy has opened what it will keep open."""
        self.await_well(time.monotonic(), 30)
        self.load.pause(5)
        self.judge_calmly("warm-up")
        self.measure()

    def face(self, fault, seconds):
        from faults import Scene

        phase = self.load.begin(fault.name, clear=fault.clear, details=fault.details)
        starts = [copy.starts for copy in self.ground.copies]
        try:
            note = fault.inject(Scene(self.ground, self.load, random.Random(f"{self.seed}-{fault.name}")), seconds)
        except AssertionError as error:
            note = None
            self.complain(f"{fault.name}: {error}")
        mended = time.monotonic()
        recovery = self.await_well(mended, fault.bound)
        # What is broken no more must not be felt any more.
        late = self.load.begin(f"after {fault.name}", clear=frozenset())
        self.load.pause(2)
        gap = phase.longest_gap(until=late.began)
        self.judge_calmly(fault.name)
        self.say(fault, phase, late, mended, recovery, gap, note)
        if starts == [copy.starts for copy in self.ground.copies]:
            self.look_for_growth(fault.name)
        else:
            self.measure()

    def say(self, fault, phase, late, mended, recovery, gap, note):
        refused = " ".join(f"{name} {count}" for name, count in sorted(phase.refused.items())) or "none"
        well = "NOT WELL" if recovery is None else f"{recovery:.1f} s"
        print(f"{fault.name:15} {mended - phase.began:5.1f} s  acknowledged {len(phase.acknowledged):5}  refused: {refused}  "
              f"longest gap {gap:.1f} s  recovery {well}{f'  ({note})' if note else ''}", flush=True)
        for what in sorted(set(phase.wrong))[:5]:
            self.complain(f"{fault.name}: {what}")
        for what in sorted(set(late.wrong))[:5]:
            self.complain(f"after {fault.name}: {what}")
        if recovery is None:
            states = ", ".join(f"{watcher.copy.name} {watcher.now}" for watcher in self.load.watchers)
            self.complain(f"{fault.name}: not well {fault.bound:.0f} s after it was mended ({states})")
        if fault.gap and gap > fault.gap:
            self.complain(f"{fault.name}: nobody was answered for {gap:.1f} s, {fault.gap} s is the bound")
        for watcher in self.load.watchers:
            if watcher.copy.service in fault.stops_serving and not watcher.has_said("NOT_SERVING", phase.began):
                self.complain(f"{fault.name}: {watcher.copy.name} went on saying that it serves")

    def await_well(self, since, bound):
        """Seconds until the last refusal, once every copy says that it serves, answers, and no call was refused for longer than
        calls last; nothing when that takes too long."""
        from load import DEADLINE

        phase, clean = self.load.phase, DEADLINE + 0.5
        while True:
            last = max(since, phase.last_refusal)
            serves = all(watcher.now == "SERVING" for watcher in self.load.watchers)
            answers = phase.answers_since(last) >= set(self.ground.copies)
            if serves and answers and time.monotonic() > last + clean:
                return last - since
            if time.monotonic() > since + bound + clean:
                return None
            time.sleep(0.05)

    def judge_calmly(self, name):
        """Holds all callers, so that nothing is on its way, and compares."""
        try:
            self.load.hold()
            for verdict in self.ground.judge(self.ledger):
                if not verdict.is_clean():
                    self.complain(f"{name}: {verdict}: {(verdict.lost + verdict.doubled + verdict.unasked + verdict.half)[:5]}")
            for copy in self.ground.copies:
                self.await_idle(name, copy)
        finally:
            self.load.resume()

    def await_idle(self, name, copy):
        """Nobody calls: whatever a copy still runs hangs. (The question itself and a health check count as one each.)"""
        end = time.monotonic() + 10
        while copy.running_calls() > 2:
            if time.monotonic() > end:
                return self.complain(f"{name}: {copy.name} still runs {copy.running_calls():.0f} calls that nobody waits for")
            time.sleep(0.2)

    def measure(self):
        self.sizes = {copy: copy.size() for copy in self.ground.copies}

    def look_for_growth(self, name):
        """Descriptors and memory as after the warm-up, but for connections that come and go and pages that stay."""
        end = time.monotonic() + 10
        for copy, (descriptors, resident) in self.sizes.items():
            while copy.size()[0] > descriptors + 16 and time.monotonic() < end:
                time.sleep(0.1)
            now = copy.size()
            if now[0] > descriptors + 16:
                self.complain(f"{name}: {copy.name} has {now[0]} descriptors, had {descriptors}")
            if now[1] > resident * 1.25 + 24:
                self.complain(f"{name}: {copy.name} takes {now[1]:.0f} MiB, took {resident:.0f}")

    def prove_the_judge(self):
        """The judge finds harm done on purpose to the rows of this run; the transactions that do it are rolled back."""
        self.load.hold()
        harms = {
            "lost": "delete from ledger.entry where key = (select min(key) from ledger.entry);",
            "half": "update ledger.account set balance = balance + 1 where name = 'a3';",
            "unasked": "insert into ledger.entry select 'nobody', gen_random_uuid(), 'a0', 'a1', 0, '';",
        }
        audits = {
            "lost": "delete from auth.token_issuance where request_id = (select min(request_id) from auth.token_issuance);",
            "doubled": "insert into auth.token_issuance select subject_hash, gen_random_uuid(), issued_at, audience, capability, "
                       "scope, expires_at, client_address, request_id, outcome, reason from auth.token_issuance limit 1;",
        }
        # Only what was acknowledged can be lost: what was sent in vain is taken out of the table first.
        for which, cases in enumerate((harms, audits)):
            for kind, sql in cases.items():
                if not getattr(self.ground.judge(self.ledger, sql)[which], kind):
                    self.complain(f"the judge overlooked a {kind} write: {sql}")

    def finish(self, faults):
        self.prove_the_judge()
        entries, exchanges = self.ground.judge(self.ledger)
        for copy in self.ground.copies:
            descriptors, resident = copy.size()
            print(f"{copy.name}: {copy.starts} starts, {descriptors} descriptors, {resident:.0f} MiB")
        lost, doubled = (len(getattr(entries, kind)) + len(getattr(exchanges, kind)) for kind in ("lost", "doubled"))
        print(f"chaos: seed {self.seed}, {time.monotonic() - self.began:.0f} s, {len(self.wrong)} wrong")
        print(f"chaos: {len(faults)} faults, {entries.acknowledged + exchanges.acknowledged} acknowledged writes, "
              f"{lost} lost, {doubled} doubled", flush=True)


def main(arguments):
    from faults import ALL
    from chaos_ground import Ground
    from ledger import Ledger
    from load import Load

    names = [name for name in arguments.only.split(",") if name and name != "jobs"]
    unknown = set(names) - {fault.name for fault in ALL}
    if unknown:
        sys.exit(f"chaos: no fault is called {', '.join(sorted(unknown))}; there are {', '.join(fault.name for fault in ALL)}")
    faults = [fault for fault in ALL if not names or fault.name in names]
    share = (arguments.seconds or 20 * len(faults)) / len(faults) - CALM
    print(f"chaos: seed {arguments.seed}, {len(faults)} faults of about {max(share, 3):.0f} s each", flush=True)
    folder = Path(os.environ[isolation.FOLDER])
    ground, run = Ground.__new__(Ground), None
    load = None
    try:
        ground.__init__(folder)
        ledger = Ledger()
        load = Load(ground, ledger, arguments.seed)
        run = Run(ground, load, ledger, arguments.seed)
        run.warm_up()
        for fault in faults:
            run.face(fault, max(share, fault.least))
        run.finish(faults)
    finally:
        if load:
            load.close()
        if run is None or run.wrong:
            keep(folder)
        ground.close()
    sys.exit(1 if run.wrong else 0)


def keep(folder):
    """What a failed run leaves: the logs of the services and of PostgreSQL, off the disks that go with it."""
    kept = folder / "keep"
    kept.mkdir()
    for log in [*folder.glob("logs/*.log"), *folder.glob("*.log"), *folder.glob("disk/postgres/log")]:
        with contextlib.suppress(OSError):
            shutil.copy(log, kept / (log.name if log.suffix else "postgres.log"))
    print(f"chaos: the logs of the run are in {kept}", file=sys.stderr)


if __name__ == "__main__":
    if not isolation.is_inside():
        settled = parse()
        if settled.only == "jobs":  # that is jobs.py
            sys.exit(0)
        sys.exit(isolation.enter(__file__, [word for name, value in vars(settled).items() if value
                                            for word in (f"--{name}", str(value))]))
    isolation.become_first()
    main(parse())

"""Suites of cases, run many at once: one line for each suite, and one for each difference."""

import asyncio
import sys
import time
import traceback


class Report:
    """What has passed and failed so far."""

    def __init__(self, pattern="", verbose=False):
        self.pattern, self.verbose = pattern, verbose
        self.passed = self.failed = 0

    async def suite(self, name, cases, width=24):
        """Runs (name, coroutine function) pairs, `width` at once; each returns a list of differences."""
        gate, failures, started = asyncio.Semaphore(width), [], time.monotonic()
        chosen = [(title, check) for title, check in cases if self.pattern in f"{name}/{title}"]
        if not chosen:
            return

        async def one(title, check):
            async with gate:
                try:
                    found = await asyncio.wait_for(check(), 60)
                except asyncio.TimeoutError:
                    found = ["no end within 60 s"]
                except Exception as problem:
                    found = [f"{type(problem).__name__}: {problem}"]
                    if self.verbose and not isinstance(problem, (AssertionError, ConnectionError)):
                        traceback.print_exc()
                if found:
                    failures.append((title, found))

        await asyncio.gather(*(one(title, check) for title, check in chosen))
        passed = len(chosen) - len(failures)
        self.passed += passed
        self.failed += len(failures)
        verdict = "ok    " if not failures else "FAILED"
        print(f"{verdict} {name}: {passed} of {len(chosen)} in {time.monotonic() - started:.1f} s", flush=True)
        for title, found in sorted(failures):
            print(f"  {name}/{title}: {'; '.join(found)}", file=sys.stderr, flush=True)

    def end(self):
        """The last line and the exit status."""
        print(f"connect-conformance: {self.passed} passed, {self.failed} failed")
        if self.passed + self.failed == 0:
            print("connect-conformance: no case was run", file=sys.stderr)
        return 0 if self.passed and not self.failed else 1

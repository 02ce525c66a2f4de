"""Workers of a queue that are killed and stopped: a small course of the one that `make chaos` runs."""

import contextlib
import secrets
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from ground import ROOT

sys.path.insert(0, str(ROOT / "Tests/Chaos"))

from jobs import Course


@contextlib.contextmanager
def course():
    """A course on a cluster of its own; when something in it fails its logs stay."""
    folder = Path(tempfile.mkdtemp(prefix="parley-jobs-"))
    folder.chmod(0o755)
    seed = str(secrets.randbelow(10**6))
    print(f"jobs: seed {seed}", file=sys.stderr, flush=True)
    made = Course(folder, seed, fast=True)
    try:
        yield made
    except BaseException:
        print(f"jobs: the logs of seed {seed} are in {folder}", file=sys.stderr)
        raise
    else:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        made.close()


class JobsTests(unittest.TestCase):
    def test_chaos(self):
        """JOB-M3, JOB-M4: a worker is killed and one stopped past its lease of 1 s: of 300 jobs none is lost, no effect is doubled."""
        with course() as made:
            verdict = made.run(300, 6, lease=1, slowness=60, kills=1, stops=1, restarts=0)
            self.assertTrue(verdict.is_clean(), verdict)
            self.assertEqual((made.kills, made.stops), (1, 1))
            self.assertGreaterEqual(verdict.charges, 600)

    def test_rescue(self):
        """JOB-M4: the job of a worker that is killed is done by another one, when the lease of 2 s and a poll are over."""
        with course() as made:
            took = made.rescue(2)
        # The last sign of life came before the kill. The rest is for a machine that has other work: `make chaos` measures the lease of
        # production.
        self.assertLess(took, 2 + 1 + 10, "lease, poll, and room")


if __name__ == "__main__":
    unittest.main()

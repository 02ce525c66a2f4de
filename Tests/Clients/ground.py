"""What every run of outside tests stands on: processes with their output in files, one folder, and stubs of Python.

The folder goes at the end; when a test failed it stays, and its path is printed.
"""

import atexit
import importlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A TERM to the runner takes the same way out as an exception: over everything that was started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def await_true(what, condition, seconds=20.0):
    """Asks until `condition` is true; its value. The pause only keeps the question from taking the processor."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.02)


def run(command, seconds=60, **options):
    """Runs a command to its end; what it printed. Its failure is an error that shows what it said."""
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command[0]} ended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


class Program:
    """A process with its output in a file."""

    def __init__(self, name, log, command, environment=None):
        self.name = name
        self.log_file = log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment, start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    @property
    def runs(self):
        return self.process.poll() is None

    def text(self):
        return self.log_file.read_text(errors="replace")

    def wait(self, seconds):
        """The exit status, once it has ended."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {seconds} s") from None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        if self.runs:
            self.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Ground:
    """What all tests of a run share. `name` is what its folder and its words are known by."""

    name = ""
    _only = None

    @classmethod
    def get(cls):
        if cls._only is None:
            cls._only = cls()
        return cls._only

    @classmethod
    def note_failure(cls):
        """A test failed: the folder stays, if there is one."""
        if cls._only:
            cls._only.failed = True

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix=f"parley-{self.name}-"))
        self.failed = False
        atexit.register(self._clear)

    def stop(self):
        """Ends what was started; the folder is still there."""

    def generate(self, protos, files):
        """Makes Python's stubs of files below `protos`, and lets them be imported."""
        from grpc_tools import protoc

        stubs = self.folder / "stubs"
        stubs.mkdir()
        bundled = Path(importlib.import_module("grpc_tools").__file__).parent / "_proto"
        arguments = ["protoc", f"-I{protos}", f"-I{bundled}", f"--python_out={stubs}", f"--grpc_python_out={stubs}"]
        if protoc.main(arguments + files):
            raise AssertionError("the Python stubs could not be generated")
        sys.path.insert(0, str(stubs))

    def _clear(self):
        self.stop()
        if self.failed:
            print(f"{self.name}: the logs of the run are in {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


class Case(unittest.TestCase):
    """A test on a ground. A failure keeps the run's folder."""

    ground_type = Ground

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            self.ground_type.note_failure()

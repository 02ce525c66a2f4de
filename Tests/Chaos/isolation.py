"""A place of its own for a run: its network, its mounts and its process ids exist only inside, and go with it.

`enter()` starts the same script again inside fresh namespaces and waits for it. Whatever happens to the run (an exception,
Ctrl-C, a TERM, even a KILL) the kernel ends every process of that place with its first one, and its network and mounts with the
last. The folder on disk is removed out here; a KILL leaves it, empty of data.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = "PARLEY_CHAOS_FOLDER"


def is_inside():
    return FOLDER in os.environ


def enter(script, arguments):
    """Runs the script inside; its exit status."""
    # PostgreSQL's account must be able to enter, and the path of its socket must stay short.
    folder = tempfile.mkdtemp(prefix="parley-chaos-", dir="/var/tmp")
    os.chmod(folder, 0o711)
    # Without root the same is had in a user namespace, where the machine allows that.
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    # Should this process be killed, so is unshare, and with it the first process inside.
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", *user, "--mount", "--net", "--pid", "--fork", "--kill-child",
               "--mount-proc"]
    inner = subprocess.Popen(
        [*command, sys.executable, script, *arguments], env={**os.environ, FOLDER: folder}, start_new_session=True)

    def end(*_):
        # unshare itself takes no signals; its one child is the first process inside, which passes them on.
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{inner.pid}/task/{inner.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        status = inner.wait()
    finally:
        if inner.poll() is None:
            inner.kill()
            inner.wait()
        if not (Path(folder) / "keep").exists():
            shutil.rmtree(folder, ignore_errors=True)
    return status if status >= 0 else 128 - status


def become_first():
    """The first process inside adopts whatever loses its parent (PostgreSQL's server, say) and has to bury it. Returns in a
    child, which does the work; ends with that child's status."""
    child = os.fork()
    if child == 0:
        return
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    while True:
        with contextlib.suppress(InterruptedError):
            pid, status = os.wait()
            if pid == child:
                os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

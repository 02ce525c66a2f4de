#!/usr/bin/env python3
"""Judges our server and our client of Connect, gRPC-Web and gRPC with an HTTP/2 stack that is not ours.

    connect_conformance.py [--binaries FOLDER] [--only itself|server|client|both] [--filter TEXT] [--verbose]

FOLDER holds connect-conformance-server and connect-conformance-client (default: .build/adapters). The parts: the
judge's own client and server on each other, right and spoilt; our server called by the judge's client; our client against the
judge's server; our client against our server. Each suite prints one line; what differs is on standard error. It ends with 0 when every case has passed, else with 1. It needs the packages of
Tests/Clients/requirements.txt: run it with .local/venv/bin/python.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from connect import judge, report  # noqa: E402


def arguments():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, default=root / ".build/adapters", help="where the two programs are")
    parser.add_argument("--only", choices=["itself", "server", "client", "both"], help="one of the four parts")
    parser.add_argument("--filter", default="", help="only cases whose suite/name holds this text")
    parser.add_argument("--verbose", action="store_true", help="show where an unexpected error comes from")
    return parser.parse_args()


async def main(options):
    run = report.Report(options.filter, options.verbose)
    with tempfile.TemporaryDirectory(prefix="parley-connect-") as folder:
        async with contextlib.AsyncExitStack() as stack:
            stage = judge.Stage(options.binaries, Path(folder), run, stack)
            if options.only in (None, "itself"):
                await judge.judge_itself(stage)
            if options.only in (None, "server"):
                await judge.judge_server(stage)
            if options.only in (None, "client"):
                await judge.judge_client(stage)
            if options.only in (None, "both"):
                await judge.judge_both(stage)
    return run.end()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(arguments())))

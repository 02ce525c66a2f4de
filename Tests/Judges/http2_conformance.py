#!/usr/bin/env python3
"""Judge an HTTP/2 server by RFC 9113 and RFC 7541, frame by frame.

Needs nothing but Python and a server that answers `GET /` (and HEAD and POST) with 200 and a body of 64 bytes. Each case has a
connection of its own. Prints one line per case and a count at the end; exits 0 when every case passed, 1 when one failed, 2 when
there is no server.

    http2_conformance.py 127.0.0.1 8080
    http2_conformance.py localhost 8443 --tls --authority ca.pem --only http2/5.1
"""

import argparse
import sys
import time

from http2_cases import beyond, definitions, generic, messages, streams
from http2_cases.case import Requests
from http2_cases.peer import Failure, Peer, Target


def judge(case, target):
    """None, or what went wrong."""
    try:
        peer = Peer(target)
    except OSError as error:
        return f"no connection: {error}"
    try:
        case.run(peer)
    except Failure as failure:
        return str(failure)
    except OSError as error:
        return f"{error}; {peer}"
    finally:
        peer.close()
    return None


def options():
    parser = argparse.ArgumentParser(description="Judge an HTTP/2 server frame by frame.")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--tls", action="store_true", help="encrypt, with h2 in ALPN")
    parser.add_argument("--authority", help="the certificate to trust; without it none is verified")
    parser.add_argument("--together", action="store_true", help="send frames that follow each other in one write")
    parser.add_argument("--timeout", type=float, default=5, help="seconds to wait for each reaction")
    parser.add_argument("--only", default="", help="the beginning of the sections to judge")
    parser.add_argument("--quiet", action="store_true", help="print failures and the count alone")
    return parser.parse_args()


def main():
    chosen = options()
    target = Target(chosen.host, chosen.port, chosen.tls, chosen.authority, chosen.timeout, chosen.together)
    requests = Requests("https" if chosen.tls else "http", f"{chosen.host}:{chosen.port}")
    try:
        Peer(target).close()
    except OSError as error:
        print(f"http2: no server at {chosen.host}:{chosen.port}: {error}", file=sys.stderr)
        return 2
    parts = [part.cases(requests) for part in (generic, streams, definitions, messages, beyond)]
    cases = [case for part in parts for case in part if case.section.startswith(chosen.only)]
    failed = 0
    began = time.monotonic()
    for case in cases:
        reason = judge(case, target)
        failed += reason is not None
        if reason is None and not chosen.quiet:
            print(f"ok      {case.section:16} {case.title}", flush=True)
        elif reason is not None:
            print(f"FAILED  {case.section:16} {case.title}: {reason}", flush=True)
    own = sum(case.section.startswith("own/") for case in cases)
    how = ("TLS" if chosen.tls else "clear text") + (", frames together," if chosen.together else "")
    print(f"http2: {len(cases)} cases ({len(cases) - own} of the standard suite, {own} of our own) over {how} in "
          f"{time.monotonic() - began:.1f} s: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())

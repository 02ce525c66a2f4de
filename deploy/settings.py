#!/usr/bin/env python3
"""settings.py PROGRAM FILE: compares an example configuration with what the program says of its settings.

Every setting stands in the file exactly once, commented out with its default (or, where there is none, perhaps with an example), or
given. Nothing else stands there, no setting names a file that is not read, and the program takes what is given.
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile

program, file = sys.argv[1:3]
service = os.path.basename(program).removeprefix("parley-")
# What will do for any text that is asked for, a key of 32 bytes among them.
FILLER = base64.b64encode(b"k" * 32).decode()
prefix = f"PARLEY_{service.upper()}_"
lines = [match for match in (re.match(r"(#?)([A-Z0-9_]+)=(.*)$", line) for line in open(file)) if match]
given = {name: value for mark, name, value in (match.groups() for match in lines) if not mark}


def report(environment):
    """What `config check` says; without the files that the example names, which are not on this machine."""
    with tempfile.NamedTemporaryFile("w", suffix=".secret") as secret:
        secret.write(FILLER)
        secret.flush()
        environment = {name: secret.name if name.endswith("_FILE") and value else value for name, value in environment.items()}
        done = subprocess.run(
            [program, "config", "check", "--json"], env=environment, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


said = report(given)
# What is in such a file is nobody's business here.
wrong = [f"{problem['variable']}: {problem['message']}" for problem in said["problems"]
         if "must be set" not in problem["message"] and f"{problem['variable']}_FILE" not in given]
# Without what is refused, and with what must be given, it says what there is.
refused = {problem["variable"] for problem in said["problems"]}
plain = {name: value for name, value in given.items() if not name.endswith("_FILE") and name not in refused}
needed = {problem["variable"]: FILLER for problem in report(plain)["problems"]}
known = {setting["variable"]: setting for setting in report(plain | needed)["settings"]}
if not known:
    raise SystemExit("\n".join(wrong) or "the program says nothing of its settings")

seen = {}
for mark, name, value in (match.groups() for match in lines):
    key = name if name in known else name.removesuffix("_FILE")
    if key not in known:
        wrong.append(f"{name}: there is no such setting")
        continue
    setting = known[key]
    seen[key] = seen.get(key, 0) + 1
    if name != key and not (setting["secret"] or setting["allowed"] == "a text"):
        wrong.append(f"{name}: not read from a file: {key} is itself {setting['allowed']}")
    if mark and name == key and setting["default"] != value and setting["default"]:
        wrong.append(f"{name}: the default is {setting['default']}, not {value}")
wrong += [f"{name}: is not there ({setting['meaning']} Default: {setting['default'] or 'none'})"
          for name, setting in known.items() if name not in seen]
wrong += [f"{name}: is there {count} times" for name, count in seen.items() if count > 1]
wrong += [f"{name}: is not one of {service}'s" for name in seen if not name.startswith(prefix)]
print("\n".join(wrong) or f"{len(seen)} settings")
raise SystemExit(1 if wrong else 0)

#!/usr/bin/env python3
"""testssl_verdict.py FOUND: judges what testssl.sh has written as flat JSON; see testssl.sh for what is right.

Prints each finding that is wrong and a line of counts; ends with 0 when nothing is wrong."""

import json
import sys

# What must be said, by testssl's name of the finding: the beginning of its text.
FACTS = {
    "SSLv2": "not offered", "SSLv3": "not offered", "TLS1": "not offered", "TLS1_1": "not offered",
    "TLS1_2": "offered", "TLS1_3": "offered", "ALPN_HTTP2": "h2", "PFS": "offered",
    "cipherlist_NULL": "not offered", "cipherlist_aNULL": "not offered", "cipherlist_EXPORT": "not offered",
    "cipherlist_LOW": "not offered", "cipherlist_3DES_IDEA": "not offered", "cipherlist_AVERAGE": "not offered",
    "cipherlist_STRONG": "offered", "cipher_order": "server",
    "secure_renego": "supported", "secure_client_renego": "not vulnerable",
    "heartbleed": "not vulnerable", "CCS": "not vulnerable", "ROBOT": "not vulnerable", "CRIME_TLS": "not vulnerable",
    "POODLE_SSL": "not vulnerable", "SWEET32": "not vulnerable", "FREAK": "not vulnerable", "DROWN": "not vulnerable",
    "LOGJAM": "not vulnerable", "BEAST": "not vulnerable", "LUCKY13": "not vulnerable", "RC4": "not vulnerable",
}
# Ciphers by version, each with what the names of forward-secret ones begin with (all of TLS 1.3 are).
CIPHERS = {"cipherorder_TLSv1_2": "ECDHE-", "cipherorder_TLSv1_3": "TLS_"}
# Of the certificate of this run, and of the tool itself.
IGNORED = ("cert_", "engine_problem")
HARMLESS = {"OK", "INFO", "DEBUG"}


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        found = json.load(file)
    said = {entry["id"]: entry for entry in found}
    wrong = []
    for name, expected in FACTS.items():
        text = said.get(name, {}).get("finding", "nothing")
        if not text.startswith(expected):
            wrong.append(f"{name}: expected '{expected}', found '{text}'")
    ciphers = 0
    for name, prefix in CIPHERS.items():
        names = said.get(name, {}).get("finding", "").split()
        ciphers += len(names)
        if not names:
            wrong.append(f"{name}: no ciphers")
        wrong += [f"{name}: {cipher} has no forward secrecy" for cipher in names if not cipher.startswith(prefix)]
    judged = [entry for entry in found if not entry["id"].startswith(IGNORED)]
    for entry in judged:
        if entry["severity"] not in HARMLESS:
            wrong.append(f"{entry['id']} ({entry['severity']}): {entry['finding']}")
        if entry["id"].startswith("ALPN") and entry["id"] != "ALPN_HTTP2":
            wrong.append(f"{entry['id']}: {entry['finding']}")
    for line in wrong:
        print(f"testssl: WRONG {line}")
    print(f"testssl: {len(found)} findings, {len(judged)} judged, {len(FACTS)} facts asked for, {ciphers} ciphers, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""wycheproof.py [TESTEE] [VECTORS]: the Wycheproof vectors of signed and encrypted tokens, put to jose-testee.

Tokens of RS256 and ES256 are judged as the vectors label them. A token of any other algorithm, an encrypted one, and one whose key
set holds nothing but shared secrets or keys of other algorithms, is refused with the reason algorithm_not_allowed or
key_not_allowed, whatever its label. Two labels of RS256 and ES256 are judged otherwise: weak keys, named below, and empty payloads.

TESTEE is .build/adapters/jose-testee unless it is given. Without the vectors the script says so and passes.
"""
import base64
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = {"json_web_signature_test": 401, "json_web_crypto_test": 83, "json_web_key_test": 26}
OURS = ("RS256", "ES256")
REASONS = ("algorithm_not_allowed", "key_not_allowed")
# RSA keys with the ROCA weakness, labelled invalid: they are well-formed, and no public library looks for the weakness.
WEAK_KEYS = {("json_web_crypto_test", 46), ("json_web_key_test", 7)}


def vectors_folder(argument):
    if argument:
        return pathlib.Path(argument)
    candidates = [ROOT.parent / "shared/vectors/wycheproof", ROOT.parent.parent / "shared/vectors/wycheproof"]
    return next((folder for folder in candidates if folder.is_dir()), candidates[0])


def header(token):
    part = token.split(".")[0] if isinstance(token, str) else ""
    try:
        value = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_ours(key):
    """Whether a key can be one of the two algorithms at all, as far as its own words go."""
    kind = {"RSA": "RS256", "EC": "ES256"}.get(key.get("kty"))
    return kind is not None and key.get("alg", kind) == kind and not any(name in key for name in ("d", "k"))


def questions(folder):
    for name, count in FILES.items():
        seen = 0
        for group in json.loads((folder / f"{name}.json").read_text())["testGroups"]:
            key = group.get("public") or group["private"]
            keys = key.get("keys", [key])
            for test in group["tests"]:
                seen += 1
                token = test.get("jws", test.get("jwe"))
                named = header(token).get("alg")
                foreign = "jwe" in test or not any(map(is_ours, keys)) or (named is not None and named not in OURS)
                text = token if isinstance(token, str) else json.dumps(token)
                line = {"token": text, "jwks": json.dumps({"keys": keys}), "algs": OURS, "claims": False}
                yield (name, test["tcId"]), test["result"] == "valid", foreign, text, line
        assert seen == count, f"{name} has {seen} vectors, not {count}"


def expected(vector, valid, foreign, token):
    """The verdict to demand: whether it is accepted, and for what reasons it may be refused."""
    if foreign:
        return False, REASONS, "other algorithm, shared secret or encryption: refused"
    if vector in WEAK_KEYS:
        return True, (), "weak key, labelled invalid: accepted"
    if valid and ".." in token:
        return False, ("part_empty",), "empty payload, labelled valid: refused"
    return valid, None, f"{' and '.join(OURS)}, as labelled: {'accepted' if valid else 'refused'}"


def main():
    testee = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / ".build/adapters/jose-testee")
    folder = vectors_folder(sys.argv[2] if len(sys.argv) > 2 else None)
    if not folder.is_dir():
        print(f"wycheproof: SKIPPED, the vectors are not at {folder}")
        return 0
    asked = list(questions(folder))
    lines = "".join(json.dumps(line) + "\n" for *_, line in asked)
    ran = subprocess.run([testee], input=lines.encode(), stdout=subprocess.PIPE, timeout=120, check=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(asked), f"{len(answers)} answers to {len(asked)} questions"

    counts, reasons, wrong = collections.Counter(), collections.Counter(), []
    for (vector, valid, foreign, token, _), answer in zip(asked, answers):
        accepted, allowed, kind = expected(vector, valid, foreign, token)
        counts[kind] += 1
        if foreign:
            reasons[answer["reason"]] += 1
        right = answer["accept"] is accepted and bool(answer["reason"]) is not accepted
        if not right or (allowed and answer["reason"] not in allowed):
            wrong.append(f"{vector[0]} {vector[1]}: wanted {'accepted' if accepted else 'refused'} {allowed or ''}, got {answer}")
    for kind, count in sorted(counts.items()):
        print(f"wycheproof: {count:4}  {kind}")
    print(f"wycheproof: reasons of the first kind: {dict(sorted(reasons.items()))}")
    for line in wrong:
        print(f"wycheproof: WRONG {line}", file=sys.stderr)
    print(f"wycheproof: {len(asked) - len(wrong)} of {len(asked)} as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

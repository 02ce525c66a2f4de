#!/usr/bin/env bash
# Every behaviour of the token broker's specification, B-01 to B-29, is named by at least one test: a Swift test's or suite's
# display name, or the docstring or name of an outside client's test.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
named=$({ grep -rhoE '@(Test|Suite)\([^)]*' --include='*.swift' Tests || true
          grep -rhE '^ *(def test_|""")' --include='test_*.py' Tests/Clients 2>/dev/null || true; } | grep -oE 'B-[0-9]+' | sort -u || true)
missing=()
for number in $(seq -w 1 29); do
  grep -qx "B-$number" <<<"$named" || missing+=("B-$number")
done
if ((${#missing[@]})); then
  echo "specification ids: no test names ${missing[*]}" >&2
  exit 1
fi
echo "specification ids: B-01 to B-29 are each named by a test"

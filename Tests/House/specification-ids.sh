#!/usr/bin/env bash
# specification-ids.sh [ROOT]: each behaviour that is promised is named by a test that looks at it: a Swift test's or suite's display
# name, or the name or docstring of an outside client's test. Prints what nobody names.
#
#   B-01 to B-55        the behaviours of broker, sign-in and entitlements; B-52 is about documents
#   AUTH-M1 to AUTH-M10 what the auth service must have
#   O-01 to O-53        the behaviours of onboarding; O-37 and O-53 belong to services that are not there yet
#   JOB-M1 to JOB-M12   what the queue and onboarding's work must have
#   original defects    what the first back end did wrong, by number, as far as its services are there
#   published flaws     what was found in other systems, each under the number or advisory that it is known by
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

# Display names may stand on the line below; a comment names nothing.
names=$({ find Tests -name '*.swift' -print0 | xargs -0 -r grep -hPzo '@(Test|Suite)\(\s*"(\\.|[^"\\])*"' | tr '\0\n' '\n ' || true
          find Tests/Clients -name 'test_*.py' -print0 2>/dev/null | xargs -0 -r grep -hE '^ *(def test_|""")' || true; })
named=$(grep -oE '\b(B-[0-9]{2}|O-[0-9]{2}|AUTH-M[0-9]+|JOB-M[0-9]+|CVE-[0-9]{4}-[0-9]+|GHSA(-[0-9a-z]{4}){3}|Supabase #[0-9]+|TN3194|Original defect [0-9]+)\b' <<<"$names" | sort -u || true)

wanted=()
for number in $(seq -w 1 55); do [[ $number == 52 ]] || wanted+=("B-$number"); done
for number in $(seq 1 10); do wanted+=("AUTH-M$number"); done
for number in $(seq -w 1 53); do [[ $number == 37 || $number == 53 ]] || wanted+=("O-$number"); done
for number in $(seq 1 12); do wanted+=("JOB-M$number"); done
for number in 10 11 13; do wanted+=("Original defect $number"); done
wanted+=(CVE-2026-31813 CVE-2026-55669 GHSA-wxg7-w2v3-w38g CVE-2025-46815 CVE-2026-27840 CVE-2026-29000 GHSA-3529-5m8x-rpv3
  'Supabase #2612' 'Supabase #2624' GHSA-7x63-xv5r-3p2x GHSA-5hvv-m4w4-gf6v GHSA-pxq7-h93f-9jrg GHSA-c5c4-8r6x-56w3
  GHSA-f24x-5g9q-753f GHSA-7rh7-c77v-6434 CVE-2025-64484 TN3194)

# About documents: a section of the guide says which platform comes first, and why.
grep -qE '^## .*\(B-52\)$' Sources/Client/README.md || { echo "specification ids: no guide has a section on B-52" >&2; exit 1; }

missing=()
for id in "${wanted[@]}"; do grep -qxF -- "$id" <<<"$named" || missing+=("$id"); done
if ((${#missing[@]})); then
  printf 'specification ids: no test names %s\n' "${missing[@]}" >&2
  exit 1
fi
echo "specification ids: ${#wanted[@]} are each named by a test"

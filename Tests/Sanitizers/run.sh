#!/usr/bin/env bash
# run.sh address|thread [FILTER]: the Swift tests under AddressSanitizer with leaks, or under ThreadSanitizer, against a private
# PostgreSQL cluster. The programs that the tests start are sanitized as well, and their reports count: every process writes its own
# into .local/sanitizers, and one report is one failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=${1:-}
filter=${2:-}
case $kind in
  address) scratch=.build-asan ;;
  thread) scratch=.build-tsan ;;
  *) echo "usage: run.sh address|thread [FILTER]" >&2; exit 64 ;;
esac
swift=${SWIFT:-swift}
cluster=$kind-postgres-$$
reports=$PWD/.local/sanitizers/$kind
flags=(-c debug --scratch-path "$scratch" --sanitize="$kind")

finish() {
  local status=$?
  trap - EXIT
  deploy/local/postgres.sh reset --dir "$cluster" >/dev/null 2>&1 || true
  rm -f ".local/$cluster.lock"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
say() { printf '%s\n' "sanitizers: $*"; }

began=$SECONDS
mkdir -p .local/logs
say "building everything for the $kind sanitizer into $scratch"
if ! "$swift" build --build-tests "${flags[@]}" >".local/logs/$kind-build.log" 2>&1 </dev/null; then
  grep -E 'error:' ".local/logs/$kind-build.log" | head -n 20 >&2
  say "the build failed; see .local/logs/$kind-build.log" >&2
  exit 1
fi
say "built in $((SECONDS - began)) s"

rm -rf "$reports"
mkdir -p "$reports"
symbolizer=$(dirname "$(readlink -f "$(command -v "$swift")")")/llvm-symbolizer
# Times in the tests are four times as long.
export PARLEY_TEST_SLOWDOWN=4 SWIFT_BACKTRACE=enable=no
export ASAN_SYMBOLIZER_PATH=$symbolizer TSAN_SYMBOLIZER_PATH=$symbolizer
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=0:log_path=$reports/report"
export LSAN_OPTIONS="suppressions=$PWD/Tests/Sanitizers/leaks.txt:print_suppressions=0:report_objects=0"
export TSAN_OPTIONS="suppressions=$PWD/Tests/Sanitizers/threads.txt:log_path=$reports/report:external_symbolizer_path=$symbolizer:history_size=4"

deploy/local/postgres.sh start --dir "$cluster" --fast
eval "$(deploy/local/postgres.sh env --dir "$cluster")"
export PARLEY_TEST_DATABASE_URL=$PARLEY_POSTGRES_URL
export PARLEY_TEST_BINARIES=$PWD/$scratch/debug PARLEY_TEST_POSTGRES_SCRIPT=$PWD/deploy/local/postgres.sh
unset PGHOST PGPORT PGUSER PGDATABASE

log=.local/logs/$kind-test.log
status=0
"$swift" test --skip-build --disable-xctest --no-parallel "${flags[@]}" ${filter:+--filter "$filter"} >"$log" 2>&1 </dev/null \
  || status=$?
count=$(grep -aoE 'Test run with [0-9]+ tests?.*(passed|failed).*' "$log" | tail -n 1 || true)
found=$(find "$reports" -type f | wc -l)
if ((status)); then
  say "these failed (the whole log is $log):" >&2
  grep -aE '✘ Test .*(recorded an issue|failed after)|error: |Fatal error' "$log" | cut -c 1-400 | head -n 40 >&2 || true
fi
if ((found)); then
  say "$found processes reported; the first lines of each:" >&2
  for report in "$reports"/*; do
    printf '%s: ' "$report" >&2
    grep -aE '^SUMMARY|^WARNING|ERROR: ' "$report" | sort | uniq -c | sort -rn | head -n 5 >&2 || true
  done
fi
say "${count:-no Swift test ran}"
say "$kind sanitizer: $found processes with reports, in $((SECONDS - began)) s"
[[ $count =~ with\ [1-9].*passed && $status == 0 && $found == 0 ]]

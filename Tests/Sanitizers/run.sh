#!/usr/bin/env bash
# run.sh address|thread [FILTER]: the Swift tests under AddressSanitizer with leaks, or under ThreadSanitizer, against a private
# PostgreSQL cluster. The programs that the tests start are sanitized as well, and their reports count: every process writes its own
# into .local/sanitizers, and one report is one failure. Before the tests, Seeded proves that what is wrong is reported here, and
# what only looks wrong is not.
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=${1:-}
filter=${2:-}
case $kind in
  address) scratch=.build-asan slowdown=8 ;;
  thread) scratch=.build-tsan slowdown=16 ;;
  *) echo "usage: run.sh address|thread [FILTER]" >&2; exit 64 ;;
esac
swift=${SWIFT:-swift}
cluster=$kind-postgres-$$
reports=$PWD/.local/sanitizers/$kind
flags=(-c debug --scratch-path "$scratch" --sanitize="$kind")
linked=()
# The machine's bound on thread ids, while it is raised.
threads=

finish() {
  local status=$?
  trap - EXIT
  [[ -z $threads ]] || echo "$threads" >/proc/sys/kernel/pid_max
  deploy/local/postgres.sh reset --dir "$cluster" >/dev/null 2>&1 || true
  rm -f ".local/$cluster.lock"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
say() { printf '%s\n' "sanitizers: $*"; }

began=$SECONDS
mkdir -p .local/logs "$scratch"
if [[ $kind == address ]]; then
  # LeakSanitizer does not look at a thread that has the id of one before it: what such a thread alone holds is reported as leaked.
  # Ids come again after 32,768 where no systemd has raised the bound.
  read -r bound </proc/sys/kernel/pid_max
  if ((bound < 1 << 22)); then
    if echo $((1 << 22)) 2>/dev/null >/proc/sys/kernel/pid_max; then
      threads=$bound
      say "thread ids go up to $((1 << 22)) until this run ends"
    else
      say "kernel.pid_max is $bound: thread ids come again, and what is reported as leaked may be held by a thread" >&2
    fi
  fi
fi
if [[ $kind == thread ]]; then
  # Linked into every program, before the libraries. A build looks at the names of what it is given alone: a change gets new ones.
  hand_overs=$PWD/$scratch/hand-overs-$(cat Tests/Sanitizers/HandOvers/* | cksum | cut -d ' ' -f 1)
  mkdir -p "$hand_overs"
  for source in Tests/Sanitizers/HandOvers/*.c; do
    object=$hand_overs/$(basename "$source").o
    clang -O1 -fPIC -Wall -Werror -c "$source" -o "$object"
    linked+=(-Xlinker "$object")
  done
  object=$hand_overs/checked-continuations.o
  "${swift}c" -swift-version 6 -parse-as-library -warnings-as-errors -sanitize=thread -module-name HandOvers \
    -c Tests/Sanitizers/HandOvers/CheckedContinuations.swift -o "$object"
  linked+=(-Xlinker "$object")
  flags+=("${linked[@]}")
fi
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
# What tests wait for may take so many times as long.
export PARLEY_TEST_SLOWDOWN=$slowdown SWIFT_BACKTRACE=enable=no
export ASAN_SYMBOLIZER_PATH=$symbolizer TSAN_SYMBOLIZER_PATH=$symbolizer
# A leak is found in the report, once what is none is taken out, and not by the exit status, which the tests look at.
export ASAN_OPTIONS="detect_leaks=1:exitcode=0:detect_stack_use_after_return=0:log_path=$reports/report"
export LSAN_OPTIONS="suppressions=$PWD/Tests/Sanitizers/leaks.txt:print_suppressions=0"
export TSAN_OPTIONS="suppressions=$PWD/Tests/Sanitizers/threads.txt:log_path=$reports/report:external_symbolizer_path=$symbolizer:history_size=4"

# Writes beside each report what of it counts, and says how many do.
judge() {
  local report
  for report in "$reports"/report.*; do
    [[ -e $report && $report != *.counts ]] || continue
    awk -v known=Tests/Sanitizers/leaks.txt -f Tests/Sanitizers/judge.awk "$report" >"$report.counts" || rm "$report.counts"
  done
  find "$reports" -name '*.counts' | wc -l
}

# seed DEFECT COUNT: what Seeded does makes so many processes with reports.
seed() {
  local counted
  timeout -k 5 120 "$seeded" "$1" >".local/logs/$kind-seeded-$1.log" 2>&1 </dev/null || true
  counted=$(judge)
  [[ $counted == "$2" ]] || { say "Seeded $1: $counted reports instead of $2; see $reports" >&2; exit 1; }
  rm -f "$reports"/*
}
seeded=$PWD/$scratch/seeded
"${swift}c" -swift-version 6 -parse-as-library -warnings-as-errors -g -sanitize="$kind" "${linked[@]}" \
  Tests/Sanitizers/Seeded/Seeded.swift -o "$seeded" 2>".local/logs/$kind-seeded-build.log"
if [[ $kind == address ]]; then
  seed leak 1; seed weak-leak 1; seed overflow 1; seed weak 0
else
  seed race 1; seed hand-over 0
fi
say "Seeded: what it does wrong is reported, and nothing else"

deploy/local/postgres.sh start --dir "$cluster" --fast
eval "$(deploy/local/postgres.sh env --dir "$cluster")"
export PARLEY_TEST_DATABASE_URL=$PARLEY_POSTGRES_URL
export PARLEY_TEST_BINARIES=$PWD/$scratch/debug PARLEY_TEST_POSTGRES_SCRIPT=$PWD/deploy/local/postgres.sh
unset PGHOST PGPORT PGUSER PGDATABASE

log=.local/logs/$kind-test.log
status=0
: >"$log"
# run OPTION...: one run of the tests that the options choose.
run() {
  "$swift" test --skip-build --disable-xctest --no-parallel "${flags[@]}" "$@" >>"$log" 2>&1 </dev/null || status=$?
}
if [[ $kind == thread ]]; then
  run ${filter:+--filter "$filter"}
elif [[ -n $filter ]]; then
  ASAN_OPTIONS+=:fast_unwind_on_malloc=0 run --filter "$filter"
else
  # URLSession leaks through libcurl, whose frames only the slow way of walking a stack gets past.
  run --skip ClientCoreTests
  ASAN_OPTIONS+=:fast_unwind_on_malloc=0 run --filter ClientCoreTests
fi
count=$(grep -aoE 'Test run with [0-9]+ tests?.*(passed|failed).*' "$log" | tr '\n' ' ' || true)
found=$(judge)
if ((status)); then
  say "these failed (the whole log is $log):" >&2
  grep -aE '✘ Test .*(recorded an issue|failed after)|error: |Fatal error' "$log" | cut -c 1-400 | head -n 40 >&2 || true
fi
if ((found)); then
  say "$found processes reported; the first lines of each:" >&2
  for report in "$reports"/*.counts; do
    printf '%s\n' "$report:" >&2
    grep -aE '^SUMMARY|^WARNING|ERROR: |^(Direct|Indirect) leak' "$report" | cut -c 1-200 | sort | uniq -c | sort -rn | head -n 5 >&2 || true
  done
fi
say "${count:-no Swift test ran}"
say "$kind sanitizer: $found processes with reports, in $((SECONDS - began)) s"
[[ $count =~ with\ [1-9].*passed && $status == 0 && $found == 0 ]]

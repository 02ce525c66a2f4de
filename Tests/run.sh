#!/usr/bin/env bash
# run.sh [FILTER]: builds, runs the Swift tests against a private PostgreSQL cluster of their own, then the house's own scripts and
# the outside clients. With FILTER only the Swift tests whose name matches.
#
# Without FILTER they run as two parts at once, each with a cluster of its own: a machine has two cores, and one part leaves one idle.
# The tests find their cluster by PARLEY_TEST_DATABASE_URL (superuser, over the socket) and may start more with
# deploy/local/postgres.sh start --dir NAME --fast.
set -euo pipefail
cd "$(dirname "$0")/.."
filter=${1:-}
# About half of the time each: what starts whole services, and all the rest.
services='^(OnboardingTests|ToolTests)\.'
flags=(-c "${CONFIG:-debug}" --scratch-path "${SCRATCH:-.build}")
parts=() running=()

# Whoever interrupts this script reaches it alone: each part is a process group, so that all of it can be ended. Swift Package Manager
# has the tests in a group of their own, which it ends where it is interrupted, and not where it is terminated.
finish() {
  local status=$? part
  trap - EXIT INT TERM
  for part in ${running[@]+"${running[@]}"}; do kill -INT -- "-$part" 2>/dev/null || true; done
  wait
  for part in ${parts[@]+"${parts[@]}"}; do
    deploy/local/postgres.sh reset --dir "test-postgres-$$-$part" >/dev/null 2>&1 || true
    rm -f ".local/test-postgres-$$-$part.lock"
  done
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

began=$SECONDS
said=()
say() { printf '%s\n' "test: $*"; }

# Runs the Swift tests that the arguments of `swift test` choose, in the background.
begin() { # PART ARGUMENT...
  local part=$1 cluster=test-postgres-$$-$1 log=.local/logs/swift-$1.log
  shift
  parts+=("$part")
  deploy/local/postgres.sh start --dir "$cluster" --fast
  set -m
  (
    eval "$(deploy/local/postgres.sh env --dir "$cluster")"
    export PARLEY_TEST_DATABASE_URL=$PARLEY_POSTGRES_URL
    unset PGHOST PGPORT PGUSER PGDATABASE
    # Nothing is built any more, so the parts need no lock on the build's folder.
    "${SWIFT:-swift}" test --skip-build --ignore-lock --disable-xctest --no-parallel "${flags[@]}" "$@" 2>&1 | tee "$log"
  ) </dev/null &
  running+=($!)
  set +m
}

say "building the tests"
"${SWIFT:-swift}" build --build-tests "${flags[@]}"
say "built in $((SECONDS - began)) s"
# How the tests reach what is built and what starts clusters, wherever their own working directory is.
export PARLEY_TEST_BINARIES=$PWD/${SCRATCH:-.build}/${CONFIG:-debug} PARLEY_TEST_POSTGRES_SCRIPT=$PWD/deploy/local/postgres.sh

mkdir -p .local/logs
if [[ -n $filter ]]; then
  begin chosen --filter "$filter"
else
  begin services --filter "$services"
  begin rest --skip "$services"
fi
failed=()
for index in "${!parts[@]}"; do
  wait "${running[index]}" || failed+=("${parts[index]}")
done
running=()
# The end of a long log is what is read first: what failed, and where, stands there once more.
for part in ${failed[@]+"${failed[@]}"}; do
  log=.local/logs/swift-$part.log
  say "these failed (the whole log is $log):" >&2
  grep -aE '✘ Test .*(recorded an issue|failed after)|error: |Fatal error' "$log" | cut -c 1-400 | head -n 40 >&2 || true
done
((${#failed[@]} == 0)) || exit 1
for part in "${parts[@]}"; do
  count=$(grep -aoE 'Test run with [0-9]+ tests?.*passed' ".local/logs/swift-$part.log" | tail -n 1 || true)
  [[ $count =~ with\ [1-9] ]] || { say "no Swift test ran ($part)" >&2; exit 1; }
  said+=("Swift, $part: $count")
done

if [[ -z $filter ]]; then
  say "private PostgreSQL clusters"
  Tests/House/postgres-survives.sh | tee .local/logs/postgres-survives.log
  said+=("clusters: $(tail -n 1 .local/logs/postgres-survives.log)")
  say "specification ids"
  Tests/House/specification-ids.sh
  said+=("specification ids: each is named by a test")
  say "what make deploy lays out"
  if command -v systemd-analyze >/dev/null; then
    deploy/verify.sh
    said+=("deployment: verified")
  else
    said+=("deployment: NOT verified, systemd-analyze is not installed here")
  fi
  say "what make deploy does on a host"
  Tests/House/host-install.sh | tee .local/logs/host-install.log
  said+=("$(tail -n 1 .local/logs/host-install.log)")
  say "alerts and dashboard"
  deploy/monitoring/check.sh | tee .local/logs/monitoring.log
  said+=("$(tail -n 1 .local/logs/monitoring.log)")
  say "outside clients"
  .local/venv/bin/python -m unittest discover -v -s Tests/Clients -p 'test_*.py' 2>&1 | tee .local/logs/clients.log
  ran=$(grep -oE '^Ran [0-9]+ tests?' .local/logs/clients.log || true)
  [[ $ran =~ Ran\ [1-9] ]] || { say "no outside client ran" >&2; exit 1; }
  said+=("outside clients: $ran")
fi

printf '\n'
for line in "${said[@]}"; do say "$line"; done
say "passed in $((SECONDS - began)) s"

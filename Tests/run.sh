#!/usr/bin/env bash
# run.sh [FILTER]: builds, runs the Swift tests against a private PostgreSQL cluster of their own, then the house's own scripts and
# the outside clients. With FILTER only the Swift tests whose name matches.
#
# The tests find the cluster by PARLEY_TEST_DATABASE_URL (superuser, over the socket) and may start more with
# deploy/local/postgres.sh start --dir NAME --fast.
set -euo pipefail
cd "$(dirname "$0")/.."
filter=${1:-}
cluster=test-postgres-$$
flags=(-c "${CONFIG:-debug}" --scratch-path "${SCRATCH:-.build}")

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

began=$SECONDS
said=()
say() { printf '%s\n' "test: $*"; }

say "building the tests"
"${SWIFT:-swift}" build --build-tests "${flags[@]}"
say "built in $((SECONDS - began)) s"
deploy/local/postgres.sh start --dir "$cluster" --fast
eval "$(deploy/local/postgres.sh env --dir "$cluster")"
export PARLEY_TEST_DATABASE_URL=$PARLEY_POSTGRES_URL
# How the tests reach what is built and what starts clusters, wherever their own working directory is.
export PARLEY_TEST_BINARIES=$PWD/${SCRATCH:-.build}/${CONFIG:-debug} PARLEY_TEST_POSTGRES_SCRIPT=$PWD/deploy/local/postgres.sh
unset PGHOST PGPORT PGUSER PGDATABASE

mkdir -p .local/logs
log=.local/logs/swift-test.log
if ! "${SWIFT:-swift}" test --skip-build --disable-xctest --no-parallel "${flags[@]}" ${filter:+--filter "$filter"} 2>&1 | tee "$log"
then
  # The end of a long log is what is read first: what failed, and where, stands there once more.
  say "these failed (the whole log is $log):" >&2
  grep -aE '✘ Test .*(recorded an issue|failed after)|error: |Fatal error' "$log" | cut -c 1-400 | head -n 40 >&2 || true
  exit 1
fi
count=$(grep -oE 'Test run with [0-9]+ tests?.*passed' "$log" | tail -n 1 || true)
[[ $count =~ with\ [1-9] ]] || { say "no Swift test ran" >&2; exit 1; }
said+=("Swift: $count")

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

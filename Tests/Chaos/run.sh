#!/usr/bin/env bash
# run.sh [--seconds S] [--seed N] [--only FAULT[,FAULT...]]: shows the judge every harm, then breaks things under load,
# and at last the workers of a queue (`jobs`); `make chaos` builds what it needs first. The output is also in .local/logs/chaos.log.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PARLEY_TEST_BINARIES=${PARLEY_TEST_BINARIES:-$PWD/${SCRATCH:-.build}/${CONFIG:-debug}}
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/Tests/Chaos
mkdir -p .local/logs
.local/venv/bin/python -m unittest -q test_ledger test_job_judge
# Ctrl-C reaches all of us: what runs below ends in order, and `tee` stays to show how.
{ .local/venv/bin/python Tests/Chaos/chaos.py "$@" && .local/venv/bin/python Tests/Chaos/jobs.py "$@"; } 2>&1 | tee -i .local/logs/chaos.log

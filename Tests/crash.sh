#!/usr/bin/env bash
# crash.sh [SEED]: the crash matrix of the onboarding service, whole, with three seeds: each point of the work is met once with each.
set -euo pipefail
cd "$(dirname "$0")/.."
first=${1:-$RANDOM}
for seed in "$first" "$((first + 1))" "$((first + 2))"; do
  PARLEY_CRASH_POINTS=all PARLEY_CRASH_SEED=$seed Tests/run.sh CrashTests
done

#!/usr/bin/env bash
# run.sh SECONDS [TARGET]: builds parley-fuzz and runs its targets, each for so many seconds and as many at once as there are cores.
# run.sh --replay TARGET FILE...: runs one target on these inputs alone.
#
# What a run learns grows in .local/fuzz/TARGET; inputs that break something go to .local/fuzz/findings. Exits 1 on any finding.
set -euo pipefail
cd "$(dirname "$0")/../.."
targets=(http2-server http2-client framing messages json tokens waves)
local_folder=.local/fuzz

export SWIFT_BACKTRACE=enable=no
# A call that never ends holds what it captured: the leak check after each input finds it.
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export LSAN_OPTIONS="suppressions=$PWD/Tests/Sanitizers/leaks.txt:print_suppressions=0:${LSAN_OPTIONS:-}"
export ASAN_SYMBOLIZER_PATH=${ASAN_SYMBOLIZER_PATH:-$(dirname "$(readlink -f "$(command -v "${SWIFT:-swift}")")")/llvm-symbolizer}

if [[ ${1:-} == --replay ]]; then
  (($# >= 3)) || { echo "usage: run.sh --replay TARGET FILE..." >&2; exit 64; }
  program=$(Tests/Fuzz/build.sh)
  exec "$program" "$2" "${@:3}"
fi

seconds=${1:?run.sh SECONDS [TARGET]}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: SECONDS is a whole number above 0, not '$seconds'" >&2; exit 64; }
if [[ -n ${2:-} ]]; then
  [[ " ${targets[*]} " == *" $2 "* ]] || { echo "fuzz: no target '$2'; there are: ${targets[*]}" >&2; exit 64; }
  targets=("$2")
fi
echo "fuzz: building"
program=$(Tests/Fuzz/build.sh)
mkdir -p "$local_folder/findings" "$local_folder/logs"

length() { # TARGET: the longest input
  case $1 in
    http2-*) echo 16384 ;;
    tokens) echo 4096 ;;
    waves) echo 1024 ;;
    *) echo 8192 ;;
  esac
}

fuzz() { # TARGET
  mkdir -p "$local_folder/$1"
  "$program" "$1" -max_total_time="$seconds" -max_len="$(length "$1")" -timeout=20 -rss_limit_mb=2560 -malloc_limit_mb=256 \
    -dict="Tests/Fuzz/Corpus/$1.dict" -artifact_prefix="$local_folder/findings/$1-" -print_final_stats=1 -reload=0 -use_value_profile=0 \
    "$local_folder/$1" "Tests/Fuzz/Corpus/$1" >"$local_folder/logs/$1.log" 2>&1 </dev/null
}

cores=$(nproc)
declare -A pids=()
stop() {
  for target in "${!pids[@]}"; do kill "${pids[$target]}" 2>/dev/null || true; done
  exit 130
}
trap stop INT TERM

# The findings of earlier runs stay where they are; only this run's count.
touch "$local_folder/.began"
failed=()
finish() { # TARGET
  wait "${pids[$1]}" || failed+=("$1")
  unset "pids[$1]"
}
for target in "${targets[@]}"; do
  while ((${#pids[@]} >= cores)); do
    for running in "${!pids[@]}"; do kill -0 "${pids[$running]}" 2>/dev/null || finish "$running"; done
    ((${#pids[@]} < cores)) || sleep 0.5
  done
  echo "fuzz: $target for $seconds s"
  fuzz "$target" &
  pids[$target]=$!
done
for target in "${!pids[@]}"; do finish "$target"; done

number() { # NAME FILE: one of libFuzzer's final numbers
  sed -nE "s/^stat::$1: *([0-9]+).*/\1/p" "$2" | tail -n 1
}
printf '\n%-14s %12s %9s %14s %10s %8s %9s\n' target executions exec/s 'edges (of all)' features corpus findings
for target in "${targets[@]}"; do
  log=$local_folder/logs/$target.log
  last=$(grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [0-9]+' "$log" | tail -n 1 || true)
  all=$(sed -nE 's/.*\(([0-9]+) inline 8-bit counters\).*/\1/p' "$log" | head -n 1)
  edges=$(sed -nE 's/cov: ([0-9]+).*/\1/p' <<<"$last")
  features=$(sed -nE 's/.*ft: ([0-9]+).*/\1/p' <<<"$last")
  found=$(find "$local_folder/findings" -name "$target-*" -newer "$local_folder/.began" | wc -l)
  printf '%-14s %12s %9s %14s %10s %8s %9s\n' "$target" "$(number number_of_executed_units "$log")" \
    "$(number average_exec_per_sec "$log")" "${edges:-?} of ${all:-?}" "${features:-?}" "$(find "$local_folder/$target" -type f | wc -l)" "$found"
done
if ((${#failed[@]})); then
  printf '\n'
  for target in "${failed[@]}"; do
    grep -E '^FINDING|SUMMARY|ERROR: ' "$local_folder/logs/$target.log" | head -n 3 | sed "s/^/fuzz: $target: /" || true
    inputs=$(find "$local_folder/findings" -name "$target-*" -newer "$local_folder/.began")
    [[ -n $inputs ]] || echo "fuzz: $target ended without an input that it could name: $local_folder/logs/$target.log"
    for input in $inputs; do echo "fuzz: replay: Tests/Fuzz/run.sh --replay $target $input"; done
  done
  echo "fuzz: findings in ${failed[*]}" >&2
  exit 1
fi
echo "fuzz: no finding"

#!/usr/bin/env bash
# build.sh: builds parley-fuzz, with libFuzzer and AddressSanitizer, into .build-fuzz. Prints the program's path.
set -euo pipefail
cd "$(dirname "$0")/../.."
swift=${SWIFT:-swift}
runtimes=$(dirname "$(readlink -f "$(command -v "$swift")")")/../lib/clang
library=$(find "$runtimes"/*/lib/linux -name "libclang_rt.fuzzer_no_main-$(uname -m).a" 2>/dev/null | head -n 1)
[[ -n $library ]] || { echo "fuzz: this Swift has no libFuzzer (libclang_rt.fuzzer_no_main)" >&2; exit 1; }
library=$(readlink -f "$library")

# Optimised, or it would be ten times slower, but with every assertion. nghttp2, OpenSSL, zlib and protobuf-c come from the system
# without instrumentation: libFuzzer sees into them only where they compare memory.
coverage=edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table
flags=(
  -c release --scratch-path .build-fuzz --product parley-fuzz
  -Xswiftc -sanitize=address -Xswiftc "-sanitize-coverage=$coverage" -Xswiftc -assert-config -Xswiftc Debug -Xswiftc -g
  -Xcc -fsanitize=address -Xcc "-fsanitize-coverage=$coverage" -Xcc -g
  -Xlinker "$library" -Xlinker -lstdc++
)
mkdir -p .local/logs
if ! PARLEY_FUZZ=1 "$swift" build "${flags[@]}" >.local/logs/fuzz-build.log 2>&1 </dev/null; then
  grep -E 'error|warning' .local/logs/fuzz-build.log | head -n 40 >&2
  echo "fuzz: the build failed; see .local/logs/fuzz-build.log" >&2
  exit 1
fi
echo "$PWD/.build-fuzz/release/parley-fuzz"

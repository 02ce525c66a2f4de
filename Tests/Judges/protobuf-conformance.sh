#!/usr/bin/env bash
# protobuf-conformance.sh [TESTEE]: the public conformance suite of protocol buffers, run on our codecs.
#
# The suite's runner is built once from Debian's source package of protobuf, against Debian's own libprotobuf, in
# .local/judges/protobuf; the program under test is .build/adapters/protobuf-testee unless TESTEE names another. Recommended cases
# are enforced. What may fail is declared in protobuf-failures.txt and judged both ways: a declared case that passes is as wrong
# as an undeclared one that fails. Exits 0 when nothing unexpected happened.
set -euo pipefail
testee=$(realpath "${1:-$(dirname "$0")/../../.build/adapters/protobuf-testee}")
cd "$(dirname "$0")/../.."
. Tests/Judges/debian.sh

failures=Tests/Judges/protobuf-failures.txt
home=$PWD/.local/judges/protobuf
runner=$home/conformance-test-runner
say() { printf 'protobuf conformance: %s\n' "$*"; }
[[ -x $testee ]] || { say "no testee at $testee: run 'make adapters'" >&2; exit 69; }

compile() {
  # The library's own headers come first; those that Debian does not install come from the source.
  g++ -std=c++14 -O0 -w "-I$home/generated" "-I$home/source/conformance" -idirafter "$home/source/src" \
    -c "$1" -o "$home/objects/$(basename "${1%.c*}").o"
}
export -f compile
export home

build_runner() {
  local version=$1 conformance=$home/source/conformance
  rm -rf "$home"/{source,generated,objects}
  mkdir -p "$home"/{generated,objects}
  say "fetching the source of $version"
  debian_source "protobuf=$version" "$home/source" conformance src
  protoc --proto_path="$home/source/src" --cpp_out="$home/generated" google/protobuf/test_messages_proto{2,3}.proto
  protoc --proto_path="$conformance" --cpp_out="$home/generated" conformance.proto
  local files=(
    "$home"/generated/conformance.pb.cc "$home"/generated/google/protobuf/test_messages_proto{2,3}.pb.cc
    "$conformance"/{binary_json,text_format}_conformance_suite.cc "$conformance"/conformance_test{,_runner,_main}.cc
    "$conformance"/third_party/jsoncpp/jsoncpp.cpp
  )
  # Without optimisation: the runner's speed does not matter, that of its compilation does.
  say "compiling ${#files[@]} files"
  printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 bash -c 'compile "$0"'
  g++ -o "$runner" "$home"/objects/*.o -lprotobuf -lpthread
  printf '%s\n' "$stamp" >"$home/stamp"
}

mkdir -p "$home"
debian_install g++ dpkg-dev protobuf-compiler libprotobuf-dev
version=$(dpkg-query -W -f '${source:Version}' libprotobuf-dev)
stamp="$version, recipe $(sha256sum <Tests/Judges/protobuf-conformance.sh | cut -c 1-12)"
[[ -x $runner && -f $home/stamp && $(<"$home/stamp") == "$stamp" ]] || build_runner "$version"

log=$home/last-run.log
status=0
"$runner" --verbose --enforce_recommended --failure_list "$failures" --text_format_failure_list "$failures" \
  --output_dir "$home/" "$testee" >"$log" 2>&1 </dev/null || status=$?

# The runner judges two suites and ends each with one line of counts: binary and JSON, then text format.
mapfile -t counts < <(grep -oE '[0-9]+ successes, [0-9]+ skipped, [0-9]+ expected failures, [0-9]+ unexpected failures' "$log")
if ((${#counts[@]} != 2)); then
  tail -n 40 "$log" | cut -c1-400 >&2
  say "the runner ended with status $status before both suites were judged; see $log" >&2
  exit 1
fi
names=('binary and JSON' 'text format')
for index in 0 1; do say "${names[index]}: ${counts[index]}"; done

# Skipped may be what is declared here and nothing else: proto2, and the text format (JSPB has no cases in this version).
skipped=$(grep -oE '^SKIPPED, test=[^ ]+' "$log" | cut -d= -f2 || true)
undeclared=$(grep -vE '^(Required|Recommended)\.Proto2\.|\.TextFormat(Input|Output)(\.|$)' <<<"$skipped" || true)
say "skipped by declaration: $(grep -c '\.Proto2\.' <<<"$skipped") cases of proto2, $(grep -vc '\.Proto2\.' <<<"$skipped") of the text format"
if [[ -n $undeclared ]]; then
  say "FAILED: skipped without a declaration:" >&2
  head -n 40 <<<"$undeclared" >&2
  exit 1
fi
if ((status)) || [[ ! ${counts[0]} =~ ^[1-9] ]]; then
  grep -E '^(ERROR|FATAL)' "$log" | cut -c1-400 | head -n 60 >&2 || true
  say "FAILED; every line is in $log" >&2
  exit 1
fi
say "passed"

#!/usr/bin/env bash
# build.sh FOLDER: builds the gRPC C++ server with Debian's packages into FOLDER/grpc-cpp-server; nothing when it is newer than its
# sources.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. Tests/Judges/debian.sh
folder=$1
here=Tests/Benchmarks/GRPCCpp
mkdir -p "$folder"
program=$folder/grpc-cpp-server
if [[ -x $program && $program -nt $here/server.cc && $program -nt $here/bench.proto ]]; then exit 0; fi
debian_install g++ pkg-config libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
protoc "-I$here" "--cpp_out=$generated" "--grpc_out=$generated" "--plugin=protoc-gen-grpc=$(command -v grpc_cpp_plugin)" bench.proto
# shellcheck disable=SC2046
g++ -std=c++17 -O2 -w "-I$generated" -o "$program.new" "$here/server.cc" "$generated"/bench.*.cc \
  -Wl,--as-needed $(pkg-config --cflags --libs grpc++ protobuf)
mv "$program.new" "$program"

#!/usr/bin/env bash
# grpc-cpp.sh: builds the interoperability client and server of gRPC C++ from Debian's source package of grpc, linked to Debian's
# own libgrpc++. They land in .local/judges/grpc-cpp/{interop_client,interop_server}; nothing of the source is committed.
#
# What is there and built from the same version is not built again. Takes about a minute on two cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
. Tests/Judges/debian.sh

folder=$PWD/.local/judges/grpc-cpp
packages=(g++ pkg-config libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev dpkg-dev)
debian_install "${packages[@]}"

version=$(dpkg-query -W -f '${source:Version}' libgrpc++-dev)
stamp="$version, recipe $(sha256sum <Tests/Judges/grpc-cpp.sh | cut -c 1-12)"
if [[ -x $folder/interop_client && -x $folder/interop_server && -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then
  exit 0
fi
mkdir -p "$folder"
rm -rf "$folder"/{source,generated,objects,stamp}
echo "judges: gRPC C++ $version: source"
debian_source "grpc=$version" "$folder/source" src/proto/grpc/testing test src/core src/cpp include third_party/upb third_party/xxhash
cd "$folder/source"

mkdir -p "$folder/generated" "$folder/objects"
for name in empty messages test; do
  protoc -I. --cpp_out="$folder/generated" --grpc_out=generate_mock_code=true:"$folder/generated" \
    --plugin=protoc-gen-grpc="$(command -v grpc_cpp_plugin)" "src/proto/grpc/testing/$name.proto"
done

shared=(
  test/cpp/util/{create_test_channel,test_credentials_provider,test_config_cc}.cc
  test/core/util/{build,histogram,stack_tracer,test_config}.cc test/core/event_engine/test_init.cc
  test/core/security/oauth2_utils.cc test/core/end2end/data/*.cc
)
client=(test/cpp/interop/{client,client_helper,interop_client}.cc)
server=(test/cpp/interop/{interop_server,interop_server_bootstrap,server_helper}.cc)
generated=("$folder"/generated/src/proto/grpc/testing/*.cc)

object() { printf '%s/objects/%s.o\n' "$folder" "$(basename "$(dirname "$1")")_$(basename "$1")"; }
compile() {
  g++ -std=c++17 -O1 -w "-I$folder/generated" -I. -Isrc/core/ext/upb-generated -Isrc/core/ext/upbdefs-generated \
    -Ithird_party/upb -Ithird_party/xxhash -c "$1" -o "$(object "$1")"
}
export -f object compile
export folder
all=("${generated[@]}" "${shared[@]}" "${client[@]}" "${server[@]}")
echo "judges: gRPC C++: compiling ${#all[@]} files"
printf '%s\n' "${all[@]}" | xargs -P "$(nproc)" -n 1 bash -c 'compile "$0"'

libraries=(grpc++ protobuf absl_flags absl_flags_parse absl_symbolize absl_failure_signal_handler absl_stacktrace)
link_program() { # NAME SOURCE...
  local name=$1 source objects=()
  shift
  for source in "$@" "${shared[@]}" "${generated[@]}"; do objects+=("$(object "$source")"); done
  # shellcheck disable=SC2046
  g++ -o "$folder/$name" "${objects[@]}" -Wl,--as-needed $(pkg-config --libs "${libraries[@]}")
}
link_program interop_client "${client[@]}"
link_program interop_server "${server[@]}"
cp src/core/tsi/test_creds/ca.pem "$folder/"
rm -rf "$folder"/{source,objects,generated}
printf '%s\n' "$stamp" >"$folder/stamp"
echo "judges: gRPC C++: built"

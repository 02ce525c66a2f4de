#!/usr/bin/env bash
# build.sh [NAME...]: the programs that the public judges run, in release with the Swift library linked in, at .build/adapters/NAME.
#
# `swift build` makes one product at a time; the runs share one scratch folder with the release build, so what two products have
# in common is compiled once. Without names all of them are built.
set -euo pipefail
cd "$(dirname "$0")/../.."
names=("$@")
if ((${#names[@]} == 0)); then
  names=(interop-server interop-client connect-conformance-server connect-conformance-client protobuf-testee jose-testee)
fi
flags=(-c release --static-swift-stdlib --scratch-path .build-release)
began=$SECONDS
mkdir -p .build/adapters
binaries=$("${SWIFT:-swift}" build "${flags[@]}" --show-bin-path)
for name in "${names[@]}"; do
  start=$SECONDS
  "${SWIFT:-swift}" build "${flags[@]}" --product "$name"
  # A running copy keeps its file: the new one takes only the name.
  cp "$binaries/$name" ".build/adapters/.$name.new"
  mv -f ".build/adapters/.$name.new" ".build/adapters/$name"
  echo "adapters: $name in $((SECONDS - start)) s"
done
echo "adapters: ${#names[@]} in .build/adapters after $((SECONDS - began)) s"

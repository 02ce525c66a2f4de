#!/usr/bin/env bash
# build.sh FLAGS...: `swift build` with these flags, saying how long it took. PARLEY_PREBUILT=1 trusts what is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ ${PARLEY_PREBUILT:-} == 1 ]] && exit 0
began=$SECONDS
echo "build: swift build $*"
"${SWIFT:-swift}" build "$@"
echo "build: done in $((SECONDS - began)) s"

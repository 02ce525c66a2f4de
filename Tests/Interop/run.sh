#!/usr/bin/env bash
# run.sh [PART...]: outside programs against ours; `make interop` builds what it needs first. Without parts all of them run.
#
#   clients   gRPC for Python and C++, buf, curl, Connect for Python, a browser-like client, and our client (Tests/Interop/test_*.py)
#   http2     frames, one by one and together, in clear text and TLS   connect   the Connect conformance cases
#   protobuf  the protobuf conformance suite     tokens    the Wycheproof vectors of signed tokens
#
# PARLEY_INTEROP_BINARIES names another folder of programs than .build/adapters. Each part's output is in .local/logs/interop-PART.log.
set -euo pipefail
cd "$(dirname "$0")/../.."
binaries=$(realpath "${PARLEY_INTEROP_BINARIES:-.build/adapters}")
python=.local/venv/bin/python
export PARLEY_INTEROP_BINARIES=$binaries PYTHONPATH=$PWD/Tests/Clients
export PYTHONDONTWRITEBYTECODE=1
mkdir -p .local/logs
began=$SECONDS

clients() {
  Tests/Judges/grpc-cpp.sh
  local packages=$PWD/.local/judges/python wanted=Tests/Interop/requirements.txt
  if ! cmp -s "$wanted" "$packages/requirements.txt"; then
    rm -rf "$packages"
    "$python" -m pip --disable-pip-version-check --no-input install -q --only-binary :all: --target "$packages" -r "$wanted"
    cp "$wanted" "$packages/requirements.txt"
  fi
  export PYTHONPATH=$PYTHONPATH:$packages
  "$python" -m unittest discover -v -s Tests/Interop -p "${PARLEY_INTEROP_PATTERN:-test_*.py}"
}

http2() { Tests/Judges/http2.sh "$binaries/interop-server"; }
connect() { "$python" Tests/Judges/connect_conformance.py --binaries "$binaries"; }
protobuf() { Tests/Judges/protobuf-conformance.sh "$binaries/protobuf-testee"; }
tokens() { "$python" Tests/Judges/wycheproof.py "$binaries/jose-testee"; }

# A part is a shell of its own: where one is asked whether it succeeded, its first failure would not end it.
if [[ ${1:-} == --part ]]; then
  "$2"
  exit
fi
parts=("$@")
((${#parts[@]})) || parts=(clients http2 connect protobuf tokens)
said=() failed=()
for part in "${parts[@]}"; do
  start=$SECONDS log=.local/logs/interop-$part.log
  printf 'interop: %s\n' "$part"
  if Tests/Interop/run.sh --part "$part" 2>&1 | tee "$log"; then result=passed; else result=FAILED failed+=("$part"); fi
  # The last line that says how many.
  count=$(grep -E '^Ran [0-9]|[0-9] (passed|successes|cases)|[0-9] of [0-9]|successes' "$log" | tail -n 1 | cut -c 1-130 || true)
  said+=("$(printf '%-9s %s in %d s: %s' "$part" "$result" $((SECONDS - start)) "$count")")
done

printf '\n'
for line in "${said[@]}"; do printf 'interop: %s\n' "$line"; done
if ((${#failed[@]})); then
  printf 'interop: FAILED after %d s: %s\n' $((SECONDS - began)) "${failed[*]}" >&2
  exit 1
fi
printf 'interop: all passed in %d s\n' $((SECONDS - began))

#!/usr/bin/env bash
# http2.sh [SERVER]: judge interop-server's HTTP/2 frame by frame, in clear text and TLS, frames apart and in one write.
# SERVER is the program, .build/debug/interop-server when absent. Exits 0 when every case passed.
set -euo pipefail
cd "$(dirname "$0")/../.."
server=${1:-.build/debug/interop-server}
[[ -x $server ]] || { echo "http2: build $server first" >&2; exit 2; }

folder=$(mktemp -d /var/tmp/parley-http2.XXXXXX)
pid=
stop() { [[ -z $pid ]] || { kill "$pid" 2>/dev/null || true; wait "$pid" || true; }; pid=; }
trap 'stop; rm -rf "$folder"' EXIT

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null

judge() { # HOST, JUDGE'S OPTIONS -- SERVER'S OPTIONS
  local host=$1 options=(); shift
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  : >"$folder/log"
  "$server" --port 0 "$@" >"$folder/log" 2>&1 </dev/null &
  pid=$!
  for _ in {1..100}; do
    grep -q '^listening on ' "$folder/log" && break
    kill -0 "$pid" 2>/dev/null || { cat "$folder/log" >&2; return 2; }
    sleep 0.1
  done
  local port status=0
  port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$folder/log")
  python3 Tests/Judges/http2_conformance.py "$host" "$port" --quiet "${options[@]}" || status=$?
  python3 Tests/Judges/http2_conformance.py "$host" "$port" --quiet --together "${options[@]}" || status=$?
  stop
  return "$status"
}

failed=0
judge 127.0.0.1 -- || failed=1
judge localhost --tls --authority "$folder/certificate.pem" -- \
  --tls --cert "$folder/certificate.pem" --key "$folder/key.pem" || failed=1
exit "$failed"

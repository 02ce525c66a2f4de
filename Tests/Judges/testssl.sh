#!/usr/bin/env bash
# testssl.sh [SERVER]: Debian's testssl.sh judges what a service of ours offers over TLS. SERVER is the program,
# .build/debug/demo-service when absent (every service has the same listener).
#
# Right is: TLS 1.2 and 1.3 and nothing older, ALPN `h2`, no renegotiation that a client starts, forward secrecy with every
# cipher, and nothing that testssl rates LOW or worse in ciphers or known attacks. What it says of the certificate itself (signed by
# an authority of this run) is of no interest. Prints a line of counts, and each finding that is wrong; ends with 0 when there is none.
#
# Our services refuse whoever offers no ALPN (RFC 9113, section 3.2), and testssl offers some only when it asks about ALPN: so it
# runs from a copy whose ClientHellos carry `h2` in the place of NPN, with an openssl that is told the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
server=${1:-.build/debug/demo-service}
[[ -x $server ]] || { echo "testssl: build $server first" >&2; exit 2; }
source Tests/Judges/debian.sh
debian_install testssl.sh
judge=$(command -v testssl)

folder=$(mktemp -d /var/tmp/parley-testssl.XXXXXX)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT

sed 's/all_extensions+="$extension_next_protocol"/all_extensions+="00,10,00,05,00,03,02,68,32"/' "$judge" >"$folder/testssl"
if cmp -s "$judge" "$folder/testssl"; then echo "testssl: this version of testssl.sh builds its ClientHello in another way" >&2; exit 2; fi
chmod +x "$folder/testssl"
cat >"$folder/openssl" <<'WRAPPER'
#!/usr/bin/env bash
if [[ ${1:-} == s_client && " $* " == *" -connect "* && " $* " != *" -alpn "* ]]; then shift; exec openssl s_client -alpn h2 "$@"; fi
exec openssl "$@"
WRAPPER
chmod +x "$folder/openssl"

deploy/local/certificates.sh "$folder/tls" >/dev/null
env PARLEY_DEMO_LOG_LEVEL=warning "$server" serve --listen 127.0.0.1:0 --tls-listen 127.0.0.1:0 --port-file "$folder/ports" \
  --tls-certificate "$folder/tls/server.pem" --tls-key "$folder/tls/server-key.pem" >"$folder/log" 2>&1 </dev/null &
pids+=($!)
for _ in {1..300}; do
  [[ -s $folder/ports ]] && break
  kill -0 "${pids[0]}" 2>/dev/null || { cat "$folder/log" >&2; exit 2; }
  sleep 0.1
done
port=$(grep -oE '"tls":"[^"]*:[0-9]+"' "$folder/ports" | grep -oE '[0-9]+"$' | tr -d '"')

# Protocols, standard and forward-secret ciphers, the server's choices and defaults, every known attack. HTTP headers are not
# asked for: there is no HTTP/1.1 here.
status=0
timeout -k 5 1200 "$folder/testssl" --openssl "$folder/openssl" --warnings batch --quiet --color 0 --nodns none --ip 127.0.0.1 \
  --protocols --std --fs --server-preference --server-defaults --vulnerable --connect-timeout 30 --openssl-timeout 30 \
  --jsonfile "$folder/found.json" "localhost:$port" >"$folder/said" 2>&1 </dev/null || status=$?
if [[ ! -s $folder/found.json ]]; then tail -n 20 "$folder/said" >&2; echo "testssl: it found nothing (status $status)" >&2; exit 2; fi
kill -0 "${pids[0]}" 2>/dev/null || { tail -n 5 "$folder/log" >&2; echo "testssl: the server is gone" >&2; exit 1; }
if [[ -n ${TESTSSL_KEEP:-} ]]; then cp "$folder/found.json" "$folder/said" "$TESTSSL_KEEP"/; fi
python3 Tests/Judges/testssl_verdict.py "$folder/found.json"

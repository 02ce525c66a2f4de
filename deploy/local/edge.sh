# Sourced after processes.sh: the edge of a local run. nghttpx speaks HTTP/1.1 and HTTP/2, with TLS and without, to callers,
# and HTTP/2 without TLS to the services.
#
#   edge_start NAME HTTP-PORT HTTPS-PORT BACKEND...    a port of 0 means any free one
#
# A backend is a port that everything goes to, or PORT=PATHS with what goes there instead: paths with colons between them, each with all
# that is below it where it ends with a slash.
#
# The addresses it got are then in $LOCAL/NAME/ports as `http=PORT` and `https=PORT`.
set -euo pipefail

free_port() {
  "${PYTHON:-python3}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
# The wanted port if it is free on this machine, else another.
port_or_any() {
  if (($1)) && "${PYTHON:-python3}" -c "import socket; socket.socket().bind(('127.0.0.1', $1))" 2>/dev/null; then
    printf '%s\n' "$1"
  else
    free_port
  fi
}

edge_configuration() { # FOLDER HTTP HTTPS BACKEND...
  local folder=$1 http=$2 https=$3
  shift 3
  cat <<CONF
frontend=127.0.0.1,$http;no-tls
frontend=127.0.0.1,$https
private-key-file=$LOCAL/tls/server-key.pem
certificate-file=$LOCAL/tls/server.pem
tls-min-proto-version=TLSv1.2
no-ocsp=yes
single-process=yes
workers=1
# One connection carries as many calls as the service itself allows; 100, the default, would queue the rest here.
frontend-http2-max-concurrent-streams=1024
backend-http2-max-concurrent-streams=1024
# The service trusts only what the edge says about the caller's address.
strip-incoming-x-forwarded-for=yes
add-x-forwarded-for=yes
strip-incoming-forwarded=yes
no-location-rewrite=yes
no-server-rewrite=yes
no-via=yes
# No more than the service takes. It counts 32 bytes for each field beside its name and its value, and the edge adds fields of its
# own: 12 KiB, 3.2 KiB for a hundred fields, and what is added stay below 16 KiB. The edge itself answers 431 beyond that.
request-header-field-buffer=12K
max-request-header-fields=100
# A copy that refuses connections is left out at once and looked at again every second, and so is one that accepts them and says
# nothing: its kernel does, while the process stands still.
backend-max-backoff=1s
backend-connect-timeout=1s
backend-http2-settings-timeout=1s
# Metrics and administration are not for callers. Debian builds nghttpx without mruby, which could answer 404 here, so these
# paths lead to a socket that nobody listens on: 502, whatever the service would say.
backend=unix:$folder/nowhere;/metrics/:/admin/:/debug/
accesslog-file=/dev/null
errorlog-file=/dev/stderr
CONF
  local backend paths
  for backend; do
    paths=/
    [[ $backend != *=* ]] || paths=${backend#*=}
    printf 'backend=127.0.0.1,%s;%s;proto=h2;fall=1;rise=1\n' "${backend%%=*}" "$paths"
  done
}

edge_answers() { # HTTP
  # Any HTTP answer will do: whether the service behind it is well is asked elsewhere.
  curl -sS -o /dev/null --max-time 2 "http://127.0.0.1:$1/"
}

edge_start() { # NAME HTTP HTTPS BACKEND...
  local name=$1 wanted_http=$2 wanted_https=$3 http https
  shift 3
  local folder=$LOCAL/$name
  mkdir -p "$folder"
  for _ in 1 2 3 4; do
    http=$(port_or_any "$wanted_http") https=$(port_or_any "$wanted_https")
    edge_configuration "$folder" "$http" "$https" "$@" >"$folder/nghttpx.conf"
    process_start "$name" nghttpx --conf="$folder/nghttpx.conf" || return 1
    if process_await "$name" 20 "listening" edge_answers "$http" 2>"$folder/why"; then
      printf 'http=%s\nhttps=%s\n' "$http" "$https" >"$folder/ports"
      return 0
    fi
    # Somebody took the port between asking for it and listening on it: take another.
    grep -qiE 'in use|Failed to listen|bind' "$LOCAL/logs/$name.log" || break
  done
  cat "$folder/why" >&2
  return 1
}

#!/usr/bin/env bash
# run.sh run    builds and starts everything on this machine, walks through it, stays up until Ctrl-C
# run.sh demo   the same, then stops; exits 0 when every step passed; the last line is the walkthrough's count
# run.sh stop   stops whatever an earlier run left, by recorded process id
#
# PARLEY_PREBUILT=1 uses the binaries that are there. PARLEY_COPIES=N runs N copies of the service (default 2).
# PARLEY_HTTP_PORT and PARLEY_HTTPS_PORT choose the edge's ports (run: 8080 and 8443 when free; demo: any).
set -euo pipefail
cd "$(dirname "$0")/../.."
umask 022
. deploy/local/processes.sh
. deploy/local/edge.sh
. deploy/local/services.sh

mode=${1:-run}
[[ $mode =~ ^(run|demo|stop)$ ]] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 64; }

stop_everything() {
  process_stop_all
  deploy/local/postgres.sh stop >/dev/null 2>&1 || true
}

if [[ $mode == stop ]]; then
  # First the script that watches over the others, which stops them itself.
  process_stop run 60
  stop_everything
  say "stop: nothing is left running"
  exit 0
fi

# Descriptor 8 holds the lock until this script ends, however it ends.
exec 8>"$LOCAL/run.lock"
if ! flock -w 2 8; then
  say "$mode: a run is already up in this checkout (process $(process_id run || echo '?')); end it with Ctrl-C there or: make stop" >&2
  exit 75
fi

walkthrough_line=
finish() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP
  rm -f "$LOCAL/pids/run.pid"
  say "$mode: stopping"
  stop_everything
  rm -f "$LOCAL/run.env"
  if [[ -n $walkthrough_line ]]; then say "$walkthrough_line"; fi
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

step() { say "[$((SECONDS / 60)):$(printf %02d $((SECONDS % 60)))] $*"; }

if compgen -G "$LOCAL/pids/*.pid" >/dev/null; then
  step "stopping what an earlier run left"
  rm -f "$LOCAL/pids/run.pid"
  process_stop_all
fi
process_record run $$

step "building ($CONFIG)"
if [[ $CONFIG == release ]]; then
  deploy/local/build.sh -c release --static-swift-stdlib --scratch-path .build-release 8>&-
else
  deploy/local/build.sh -c "$CONFIG" --scratch-path "${SCRATCH:-.build}" 8>&-
fi

mkdir -p "$STATE"
rm -f "$STATE"/*.port "$STATE"/*.port.last
step "certificates and database"
deploy/local/certificates.sh "$LOCAL/tls"
deploy/local/postgres.sh start 8>&-
eval "$(deploy/local/postgres.sh env)"

step "sandbox"
sandbox_start
step "roles and migrations"
database_prepare
step "$COPIES copies of parley-auth"
onboarding_announce
backends=()
for ((copy = 1; copy <= COPIES; copy++)); do
  auth_start "auth-$copy"
  process_await "auth-$copy" 30 healthy auth_healthy "auth-$copy"
  backends+=("$(port_of "$STATE/auth-$copy.port" grpc)")
done
step "a second service"
demo_start
step "onboarding"
onboarding_start
step "edge"
http=${PARLEY_HTTP_PORT:-0} https=${PARLEY_HTTPS_PORT:-0}
if [[ $mode == run ]]; then http=${PARLEY_HTTP_PORT:-8080} https=${PARLEY_HTTPS_PORT:-8443}; fi
edge_start edge "$http" "$https" "${backends[@]}" "$(port_of "$STATE/onboarding.port" grpc)=$ONBOARDING_PATHS"
# The one is auth's, the other onboarding's.
for path in healthz api/health; do
  process_await edge 30 "in touch with the services" \
    curl -sSf -o /dev/null --max-time 2 "http://127.0.0.1:$(port_of "$LOCAL/edge/ports" http)/$path"
done

addresses >"$LOCAL/run.env"
step "walkthrough"
mapfile -t settings < <(sed 's/=.*//' "$LOCAL/run.env")
set +e
# The walkthrough's last line is kept for the end, when all is stopped.
(. "$LOCAL/run.env"; export "${settings[@]}"; exec "$BINARIES/parley" demo 8>&-) | tee "$LOCAL/logs/walkthrough.log" 8>&- | sed -u '$d' 8>&-
outcome=${PIPESTATUS[0]}
set -e
walkthrough_line=$(tail -n 1 "$LOCAL/logs/walkthrough.log")
if ((outcome == 0)) && ! [[ $walkthrough_line =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]]; then
  say "$mode: the walkthrough ended without saying that every step passed" >&2
  outcome=70
fi

if [[ $mode == demo ]]; then
  exit "$outcome"
fi

say "$walkthrough_line"
walkthrough_line=
how_to_call
say "Ctrl-C stops it all."
# What a supervisor does for the services in production: what ends is started again, at the same address. PostgreSQL is not: who
# stopped it wants to see the services without it.
revive() { # NAME START-FUNCTION
  if process_alive "$1"; then return; fi
  step "$1 has ended (see $LOCAL/logs/$1.log, kept as $1.log.1); starting it again"
  cp "$LOCAL/logs/$1.log" "$LOCAL/logs/$1.log.1" || true
  "$2" "$1" || step "$1 does not start; trying again"
}
reported=
while :; do
  sleep 1 8>&- &
  wait $! || true
  for ((copy = 1; copy <= COPIES; copy++)); do revive "auth-$copy" auth_start; done
  revive onboarding onboarding_start
  for name in sandbox demo edge postgres; do
    if ! process_alive "$name"; then
      [[ $reported == *" $name "* ]] || step "$name has ended (see $LOCAL/logs/$name.log)$(
        [[ $name != postgres ]] || printf '; bring it back with: deploy/local/postgres.sh start')"
      [[ $reported == *" $name "* ]] || reported+=" $name "
    else
      reported=${reported// $name /}
    fi
  done
done

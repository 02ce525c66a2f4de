#!/usr/bin/env bash
# The private cluster under what happens to it: a second start, kill -9, a stale id file, a taken port, a checkout that only its
# owner can enter, a path too long for a socket, another user. Each line is one fact; the last is the count.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d /var/tmp/parley-house.XXXXXX)
passed=0 failed=0
finish() {
  for local in "$work"/*/.local "$work"/*/*/.local; do
    [[ -d $local ]] || continue
    # As its owner, so that the cluster is found and deleted in the same way as it was made.
    if [[ $(stat -c %U "$local") == "$USER_NAME" || $EUID != 0 ]]; then (cd "$local/.." && PARLEY_LOCAL=$local deploy/local/postgres.sh reset); else
      runuser -u "$(stat -c %U "$local")" -- sh -c "cd '$local/..' && deploy/local/postgres.sh reset"; fi >/dev/null 2>&1 || true
  done
  rm -rf "$work"
}
USER_NAME=$(id -un)
trap finish EXIT
holds() { # FACT COMMAND...
  local fact=$1
  shift
  if "$@" >"$work/out" 2>&1; then passed=$((passed + 1)); echo "ok   $fact"; else
    failed=$((failed + 1)); echo "FAIL $fact"; sed 's/^/     /' "$work/out"; fi
}
checkout() { mkdir -p "$1"; cp -r "$top/deploy" "$1/"; }
ask() { (eval "$(deploy/local/postgres.sh env)"; psql -w -Atc "$1"); }

house=$work/house
checkout "$house"
chmod 700 "$work" "$house"
cd "$house"
unset PARLEY_LOCAL

holds "a cluster is made and answers in a folder that only its owner can enter" deploy/local/postgres.sh start
holds "it keeps a row" ask 'create table kept(id int); insert into kept values (1)'
before=$(deploy/local/postgres.sh env)
holds "a second start finds it running" grep -q 'already running' <(deploy/local/postgres.sh start)
holds "the socket's path is short" [ "$(eval "$before"; printf %s "$PGHOST/.s.PGSQL.$PGPORT" | wc -c)" -lt 90 ]
holds "nobody but its owner enters the socket's folder" [ "$(eval "$before"; stat -Lc %a "$PGHOST")" = 700 ]
holds "TCP wants the password" bash -c "$before; ! PGPASSFILE=/dev/null psql -w -h 127.0.0.1 -c 'select 1'"
holds "TCP takes the password" bash -c "$before; psql -w \"\$PARLEY_POSTGRES_TCP_URL\" -c 'select 1'"
holds "a second cluster runs beside it" deploy/local/postgres.sh start --dir other --fast
holds "without durability when asked" bash -c 'eval "$(deploy/local/postgres.sh env --dir other)"; [ "$(psql -Atc "show fsync")" = off ]'
holds "the second one goes without a trace" deploy/local/postgres.sh reset --dir other
holds "the first one is durable" [ "$(ask 'show fsync')" = on ]

kill -9 "$(cut -d' ' -f1 .local/pids/postgres.pid)"
holds "after kill -9 it starts again" deploy/local/postgres.sh start
holds "at the same address" [ "$(deploy/local/postgres.sh env)" = "$before" ]
holds "with its row" [ "$(ask 'select count(*) from kept')" = 1 ]

deploy/local/postgres.sh stop >/dev/null
holds "status says that it is stopped" bash -c '! deploy/local/postgres.sh status'
data=$(eval "$before"; echo "$PARLEY_POSTGRES_HOME/data")
printf '%s\n%s\n' $$ "$data" >"$data/postmaster.pid"
holds "an id file that names a stranger does not stop it" deploy/local/postgres.sh start
deploy/local/postgres.sh stop >/dev/null

port=$(eval "$before"; echo "$PGPORT")
python3 -c "import socket, sys; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', $port)); s.listen(); print('bound', flush=True); sys.stdin.read()" \
  < <(exec tail -f --pid=$$ /dev/null) >"$work/bound" &
squatter=$!
until [[ -s $work/bound ]]; do kill -0 "$squatter"; done
holds "a taken port is replaced by another" deploy/local/postgres.sh start
holds "and it is another one" [ "$(eval "$(deploy/local/postgres.sh env)"; echo "$PGPORT")" != "$port" ]
kill "$squatter"
deploy/local/postgres.sh stop >/dev/null

deep=$work/$(printf 'd%.0s' {1..110})
checkout "$deep"
cd "$deep"
holds "a path too long for a socket is no obstacle" deploy/local/postgres.sh start
holds "reset leaves nothing" bash -c 'folder=$(readlink .local/postgres); deploy/local/postgres.sh reset; [ ! -e "$folder" ] && [ ! -e .local/postgres ]'

if ((EUID == 0)); then
  chmod 711 "$work"
  checkout "$work/nobody"
  chown -R nobody "$work/nobody"
  cd "$work/nobody"
  holds "another user gets a cluster of its own" runuser -u nobody -- deploy/local/postgres.sh start
  holds "owned by that user" [ "$(stat -Lc %U .local/postgres/data)" = nobody ]
  holds "which that user stops" runuser -u nobody -- deploy/local/postgres.sh reset
fi

cd /
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))

#!/usr/bin/env bash
# A private PostgreSQL cluster: postgres.sh start|stop|status|env|reset [--dir NAME] [--fast]
#
#   start   creates the cluster when there is none, starts it, waits until it answers; harmless when it runs
#   stop    stops it; its data stays
#   status  says whether it runs; exits 3 when it does not
#   env     prints how to reach it, for `eval`
#   reset   stops it and deletes its data
#
# --dir NAME   one of several clusters (default: postgres); it is reached through .local/NAME
# --fast       no durability: a power cut loses data. For tests, which start from nothing anyway.
#
# PostgreSQL refuses to run as root, so root hands the cluster to the account `postgres` (PARLEY_POSTGRES_ACCOUNT). Where that
# account cannot enter the checkout, or the path would be too long for a socket, the cluster lives under /var/tmp and .local/NAME
# is a link to it. The socket's folder is open to its owner alone (and root), so the socket asks for no password; TCP on
# 127.0.0.1 does, with the random one in .local/NAME/password.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/local/processes.sh

usage() { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 64; }
action=${1:-}
[[ $action =~ ^(start|stop|status|env|reset)$ ]] || usage
shift
name=postgres fast=
while (($#)); do
  case $1 in
    --dir) [[ ${2:-} =~ ^[A-Za-z0-9_-]+$ ]] || usage; name=$2; shift 2 ;;
    --fast) fast=1; shift ;;
    *) usage ;;
  esac
done

link=$LOCAL/$name
account=
((EUID != 0)) || account=${PARLEY_POSTGRES_ACCOUNT:-postgres}

# Locale, HOME and working directory of the caller may be of no use to the account.
as_account() {
  if [[ -n $account ]]; then
    (cd / && exec runuser -u "$account" -- env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 "$@")
  else
    (cd / && exec env LC_ALL=C.UTF-8 "$@")
  fi
}

# The newest server installed.
binaries() {
  local folder
  folder=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  if [[ ! -x $folder/initdb ]]; then folder=$(pg_config --bindir 2>/dev/null || true); fi
  if [[ ! -x $folder/initdb ]]; then
    say "postgres: no PostgreSQL server is installed; run: make deps" >&2
    exit 69
  fi
  printf '%s\n' "$folder"
}

# A checkout that was closed to the account since takes the cluster with it: it goes where the account can still reach it.
rescue() {
  local folder
  if [[ -n $account && ! -L $link && -f $link/.parley-cluster ]] && ! as_account test -x "$LOCAL"; then
    folder=$(as_account mktemp -d /var/tmp/parley-postgres.XXXXXX)
    say "postgres: $account cannot enter this checkout any more; moving the cluster to $folder"
    rmdir "$folder"
    mv "$link" "$folder"
    ln -s "$folder" "$link"
  fi
}

# Where the cluster is, if it is there and ours.
home() {
  [[ -f $link/.parley-cluster ]] && (cd -P "$link" && pwd)
}

# Makes a folder for a new cluster that the account owns and can enter.
settle() {
  local folder
  if [[ -n $account ]] && ! getent passwd "$account" >/dev/null; then
    say "postgres: there is no account '$account' to run PostgreSQL as; run: make deps" >&2
    exit 69
  fi
  rm -rf "$link"
  # 78 characters leave room for /socket/.s.PGSQL.65535 in the 107 of a socket address; configuration files quote no odd ones.
  if [[ $link =~ ^[A-Za-z0-9/._+-]{1,78}$ ]] && as_account test -x "$LOCAL"; then
    mkdir "$link"
    [[ -z $account ]] || chown "$account" "$link"
    folder=$link
  else
    folder=$(as_account mktemp -d /var/tmp/parley-postgres.XXXXXX)
    ln -s "$folder" "$link"
  fi
  as_account chmod 700 "$folder"
  as_account touch "$folder/.parley-cluster"
}

# The id of the running server, by the file it keeps and by what it works in.
server() {
  local folder pid
  folder=$(home) || return 1
  [[ -f $folder/data/postmaster.pid ]] || return 1
  pid=$(head -n 1 "$folder/data/postmaster.pid")
  [[ $pid =~ ^[0-9]+$ && $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$folder/data" ]] || return 1
  printf '%s\n' "$pid"
}

answers() { as_account "$bin/pg_isready" -q -h "$1/socket" -p "$(<"$1/port")"; }

free_port() {
  "${PYTHON:-python3}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

create() { # FOLDER
  local folder=$1 began=$SECONDS password
  say "postgres: creating a private cluster ($("$bin/postgres" --version)) in $folder"
  password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
  as_account sh -c 'umask 077; rm -rf "$1/new"; mkdir -p "$1/socket"; cat >"$1/password"' sh "$folder" <<<"$password"
  as_account sh -c 'umask 077; cat >"$1/pgpass"' sh "$folder" <<<"127.0.0.1:*:*:postgres:$password"
  as_account "$bin/initdb" -D "$folder/new" -U postgres --pwfile="$folder/password" --auth-local=trust \
    --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --data-checksums --no-instructions --no-sync \
    >"$LOCAL/logs/$name.initdb.log" 2>&1 || { cat "$LOCAL/logs/$name.initdb.log" >&2; exit 70; }
  as_account sh -c 'echo "include '\''parley.conf'\''" >>"$1/new/postgresql.conf"; rm -rf "$1/data"; mv "$1/new" "$1/data"; sync -f "$1/data"' \
    sh "$folder"
  say "postgres: created in $((SECONDS - began)) s"
}

configure() { # FOLDER PORT
  as_account sh -c 'echo "$2" >"$1/port"; cat >"$1/data/parley.conf"' sh "$1" "$2" <<CONF
listen_addresses = '127.0.0.1'
port = $2
unix_socket_directories = '$1/socket'
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = '128MB'
password_encryption = 'scram-sha-256'
log_line_prefix = '%m [%p] %q%u@%d '
$(if [[ -n $fast ]]; then printf '%s\n' 'fsync = off' 'synchronous_commit = off' 'full_page_writes = off'; fi)
CONF
}

start() {
  local folder pid port attempt
  exec 9>"$LOCAL/$name.lock"
  flock 9
  bin=$(binaries)
  rescue
  home >/dev/null || settle
  folder=$(home)
  if pid=$(server) && answers "$folder"; then
    process_record "$name" "$pid" INT
    say "postgres: already running (process $pid)"
    return
  fi
  [[ -f $folder/data/PG_VERSION ]] || create "$folder"
  if [[ $(<"$folder/data/PG_VERSION") != "$("$bin/postgres" --version | grep -oE '[0-9]+' | head -n 1)" ]]; then
    say "postgres: the cluster was made by version $(<"$folder/data/PG_VERSION"), installed is $("$bin/postgres" --version)." >&2
    say "postgres: to start from nothing: deploy/local/postgres.sh reset --dir $name" >&2
    exit 70
  fi
  # A port is kept for the cluster's life, so that clients find it again after a crash; another is taken when somebody else has it.
  port=$(cat "$folder/port" 2>/dev/null || free_port)
  for attempt in 1 2 3 4 5 6; do
    # After a kill -9 the file names a process that is gone, or one that has nothing to do with us.
    server >/dev/null || as_account rm -f "$folder/data/postmaster.pid"
    configure "$folder" "$port"
    as_account sh -c ': >"$1/log"' sh "$folder"
    if as_account "$bin/pg_ctl" start -D "$folder/data" -l "$folder/log" -w -t 60 >/dev/null 2>&1 9>&-; then
      pid=$(server)
      process_record "$name" "$pid" INT
      ln -sfn "$folder/log" "$LOCAL/logs/$name.log"
      say "postgres: running (process $pid, 127.0.0.1:$port, socket in $folder/socket)"
      return
    fi
    # Two ways to recover: the port is taken, or children of a killed server have not noticed yet that it is gone.
    if grep -qE 'could not (bind|create any TCP)' "$folder/log"; then port=$(free_port); else sleep 1; fi
    say "postgres: did not start, trying again (attempt $attempt of 6)"
  done
  tail -n 20 "$folder/log" >&2
  exit 70
}

stop() {
  local folder pid
  folder=$(home) || { rm -f "$LOCAL/pids/$name.pid"; say "postgres: there is no cluster"; return; }
  if ! pid=$(server); then
    rm -f "$LOCAL/pids/$name.pid"
    say "postgres: not running"
    return
  fi
  bin=$(binaries)
  as_account "$bin/pg_ctl" stop -D "$folder/data" -m fast -w -t 20 >/dev/null 2>&1 \
    || as_account "$bin/pg_ctl" stop -D "$folder/data" -m immediate -w -t 10 >/dev/null 2>&1 \
    || process_stop "$name" 0
  rm -f "$LOCAL/pids/$name.pid"
  say "postgres: stopped (process $pid)"
}

case $action in
  start) start ;;
  stop) stop ;;
  status)
    if pid=$(server); then say "postgres: running (process $pid)"; else say "postgres: not running"; exit 3; fi
    ;;
  env)
    folder=$(home) && [[ -f $folder/port ]] || { say "postgres: there is no cluster; start it first" >&2; exit 3; }
    cat <<ENV
export PGHOST='$folder/socket' PGPORT='$(<"$folder/port")' PGUSER=postgres PGDATABASE=postgres
export PARLEY_POSTGRES_URL='postgresql://postgres@/postgres?host=$folder/socket&port=$(<"$folder/port")'
export PARLEY_POSTGRES_TCP_URL='postgresql://postgres@127.0.0.1:$(<"$folder/port")/postgres?passfile=$folder/pgpass'
export PARLEY_POSTGRES_HOME='$folder'
ENV
    ;;
  reset)
    stop
    if folder=$(home); then
      rm -rf "$folder"
      rm -rf "$link" "$LOCAL/logs/$name.log"
      say "postgres: its data is deleted"
    fi
    ;;
esac

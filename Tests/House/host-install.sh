#!/usr/bin/env bash
# host-install.sh: installs all services on this host as `make deploy` does, migrates, and starts each as its account under its unit's
# system call rules. It happens in a mount namespace of its own, with layers over /etc, /usr and /var/lib that are gone at the end:
# nothing on this host changes. It takes root, overlay mounts and a database cluster of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=${PARLEY_TEST_BINARIES:-$PWD/${SCRATCH:-.build}/${CONFIG:-debug}}

if [[ ${1:-} != inside ]]; then
  if [[ $EUID != 0 ]] || ! unshare --mount sh -c 'd=$(mktemp -d) && mount -t tmpfs none $d && mkdir $d/u $d/w \
    && mount -t overlay none -o lowerdir=/etc,upperdir=$d/u,workdir=$d/w /etc' 2>/dev/null; then
    echo "host: NOT tried: it takes root and overlay mounts"
    exit 0
  fi
  export PARLEY_LOCAL
  PARLEY_LOCAL=$(mktemp -d /var/tmp/parley-host.XXXXXX)
  chmod 711 "$PARLEY_LOCAL"
  trap 'deploy/local/postgres.sh reset --dir cluster >/dev/null 2>&1 || true; rm -rf "$PARLEY_LOCAL"' EXIT
  deploy/local/postgres.sh start --dir cluster --fast >/dev/null
  eval "$(deploy/local/postgres.sh env --dir cluster)"
  # Other accounts than ours come to this cluster; on a host it is Debian's own, which they reach.
  chmod 711 "$PARLEY_LOCAL/cluster" "$PGHOST"
  chmod 777 "$PGHOST/.s.PGSQL.$PGPORT"
  PARLEY_DATABASE_AT="host=$PGHOST&port=$PGPORT" unshare --mount "$PWD/Tests/House/host-install.sh" inside
  exit
fi

unset PGHOST PGPORT PGUSER PGDATABASE
layers=$PARLEY_LOCAL/layers
mkdir "$layers"
mount -t tmpfs -o mode=755 none "$layers"
mkdir -m 1777 "$layers/run"
# Where the checkout is, the services' accounts may have no business.
install -m 755 deploy/confined.py "$layers/confined.py"
for folder in etc usr var/lib; do
  mkdir -p "$layers/$folder/upper" "$layers/$folder/work"
  mount -t overlay none -o "lowerdir=/$folder,upperdir=$layers/$folder/upper,workdir=$layers/$folder/work" "/$folder"
done
mapfile -t names < <(sed -nE 's/^([a-z]+) .*/\1/p' deploy/services)

failed=0
fact() { # NAME COMMAND...
  local what=$1
  shift
  if "$@" >"$layers/out" 2>&1; then echo "ok   $what"; else echo "FAIL $what"; tail -n 30 "$layers/out" | sed 's/^/     /'; failed=1; fi
}
sql() { psql -w -XAtq "postgresql://postgres@/parley?$PARLEY_DATABASE_AT" -c "$1"; }
install_all() { PARLEY_PREBUILT=1 PARLEY_BINARIES=$programs deploy/install.sh; }
owned() { # SERVICE
  local others
  others=$(sql "select tablename, tableowner from pg_tables where schemaname = '$1' and tableowner <> 'parley_${1}_owner'")
  [[ -z $others && $(sql "select count(*) > 5 from pg_tables where schemaname = '$1'") == t ]] || { echo "others own: $others"; return 1; }
}
# A command as a service's account, with its groups and settings and nothing else, in the place of this shell.
become() { # SERVICE COMMAND...
  local account=parley_$1 file=/etc/parley/$1.env
  shift
  exec setpriv --reuid "$account" --regid "$account" --init-groups env -i PATH=/usr/bin:/bin bash -c 'set -a; . "$0"; exec "$@"' "$file" "$@"
}
as() { (become "$@"); }
refused() { ! "$@"; }

fact "make deploy installs, makes accounts and migrates" install_all
fact "and does so again over itself" install_all
openssl rand -base64 32 >/etc/parley/auth-kek
cat >/etc/parley/google-sa.json <<JSON
{"type": "service_account", "private_key_id": "host", "client_email": "host@parley.iam.gserviceaccount.com", "token_uri": "https://localhost:1/token",
 "private_key": "$(openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 2>/dev/null | awk -v ORS='\\n' 1)"}
JSON
sed -i 's/^PARLEY_AUTH_OIDC_CLIENT_IDS=$/PARLEY_AUTH_OIDC_CLIENT_IDS=host/' /etc/parley/auth.env
# Nobody outside is asked from here.
echo 'PARLEY_AUTH_JWKS_URL=https://localhost:1/keys' >>/etc/parley/auth.env
systemd-tmpfiles --create --prefix=/etc/parley
fact "auth reads its secrets" as auth cat /etc/parley/auth-kek
fact "within a namespace of users, too, as PrivateUsers= makes it" as auth unshare --user cat /etc/parley/auth-kek
fact "nobody else reads them" refused as onboarding cat /etc/parley/auth-kek
install -d -o parley_onboarding -m 0700 /var/lib/parley/onboarding

for name in "${names[@]}"; do
  upper=${name^^}
  fact "the schema of $name is its owner's" owned "$name"
  fact "the configuration of $name is valid" as "$name" "parley-$name" config check
  unit=/lib/systemd/system/parley-$name.service
  (become "$name" env "PARLEY_${upper}_DATABASE_URL=postgresql://parley_$name@/parley?$PARLEY_DATABASE_AT" \
    "PARLEY_${upper}_LISTEN=127.0.0.1:0" "PARLEY_${upper}_ADMIN_LISTEN=127.0.0.1:0" "PARLEY_${upper}_PORT_FILE=$layers/run/$name.port" \
    "$layers/confined.py" "$unit" "parley-$name" serve) >"$layers/$name.log" 2>&1 &
  pid=$!
  # Its addresses are known once it serves, and it serves once it has its database; ready it is when it has Google's keys, too.
  serves() {
    local end=$((SECONDS + 60)) address
    while ((SECONDS < end)) && kill -0 "$pid"; do
      address=$(sed -nE 's/.*"admin":"([^"]*)".*/\1/p' "$layers/run/$name.port" 2>/dev/null)
      if [[ -n $address ]] && curl -sf --max-time 5 "http://$address/livez"; then return 0; fi
      sleep 0.1
    done
    tail -n 20 "$layers/$name.log"
    return 1
  }
  fact "parley-$name serves as its account, under its unit's system call rules" serves
  kill -TERM "$pid" || true
  ended() { wait "$pid"; }
  fact "and ends as asked" ended
done
echo "host: ${#names[@]} services installed: $([[ $failed == 0 ]] && echo good || echo NOT GOOD)"
exit "$failed"

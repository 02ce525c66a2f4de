#!/usr/bin/env bash
# host-install.sh: installs all services on this host as `make deploy` does, migrates, and starts each as its account under its unit's
# system call rules; then upgrades that fail, a build by whoever called sudo, and packages that come with servers. It happens in a mount namespace of its own, with layers over /etc, /usr and /var/lib that are gone at the end:
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
# --- Upgrades
# Programs that say when they migrate what is installed meanwhile, and fail at it or not.
odd_programs() { # FOLDER EXIT-CODE
  local name
  mkdir -p "$1"
  for name in "${names[@]}"; do
    printf '#!/bin/sh\n[ "$1" = migrate ] || exit 0\nreadlink -f /usr/bin/parley-%s >>%s\nexit %s\n' "$name" "$layers/run/migrating" "$2" \
      >"$1/parley-$name"
    chmod 755 "$1/parley-$name"
  done
}
upgrade() { PARLEY_PREBUILT=1 PARLEY_BINARIES=$1 deploy/install.sh; }
state() {
  local name
  for name in "${names[@]}"; do
    readlink -f "/usr/bin/parley-$name"
    ls "/usr/lib/parley/$name"
    sha256sum "/usr/bin/parley-$name" "/lib/systemd/system/parley-$name.service"
  done
}
fails_and_leaves() {
  local before after said name
  # A unit that the new version would replace.
  for name in "${names[@]}"; do echo '# of the version before' >>"/lib/systemd/system/parley-$name.service"; done
  before=$(state)
  if said=$(upgrade "$layers/failing" 2>&1); then echo "it did not fail: $said"; return 1; fi
  after=$(state)
  [[ $before == "$after" ]] || { diff <(echo "$before") <(echo "$after"); return 1; }
  for name in "${names[@]}"; do "/usr/bin/parley-$name" version >/dev/null || return 1; done
  # What migrated was not the installed one.
  [[ -s $layers/run/migrating ]] || { echo "nothing migrated: $said"; return 1; }
  ! grep -vxF -f <(for name in "${names[@]}"; do readlink -f "/usr/bin/parley-$name"; done) "$layers/run/migrating"
}
last_fails_and_leaves() {
  # All but the last can.
  cp "$layers/odd"/* "$layers/mixed"
  cp "$layers/failing/parley-${names[-1]}" "$layers/mixed"
  local before
  before=$(state)
  ! upgrade "$layers/mixed" || return 1
  [[ $before == "$(state)" ]] || { diff <(echo "$before") <(state); return 1; }
}
migrates_first() {
  local before name
  before=$(for name in "${names[@]}"; do readlink -f "/usr/bin/parley-$name"; done)
  : >"$layers/run/migrating"
  upgrade "$layers/odd" || return 1
  [[ $(<"$layers/run/migrating") == "$before" ]] || { diff <(echo "$before") "$layers/run/migrating"; return 1; }
  for name in "${names[@]}"; do
    cmp "/usr/bin/parley-$name" "$layers/odd/parley-$name" || return 1
    # As the guide has it.
    ln -sfnT "$(basename "$(dirname "$(grep -m 1 "/$name/" <<<"$before")")")" "/usr/lib/parley/$name/current"
    [[ $(readlink -f "/usr/bin/parley-$name") == "$(grep -m 1 "/$name/" <<<"$before")" ]] || { echo "no way back: $name"; return 1; }
  done
}
odd_programs "$layers/failing" 70
odd_programs "$layers/odd" 0
mkdir "$layers/mixed"
chmod 1777 "$layers/run"
: >"$layers/run/migrating"
chmod 666 "$layers/run/migrating"
fact "a migration that fails leaves the old programs and units installed (DF-02)" fails_and_leaves
fact "also where only the last service's does (DF-02)" last_fails_and_leaves
fact "new programs migrate before they are the installed ones, and a link is the way back (DF-02)" migrates_first

# --- sudo make deploy
# In a checkout of somebody's own, whose toolchain is on no path but theirs.
builds_as_caller() {
  local home=$layers/home checkout=$layers/home/parley name
  useradd --no-create-home --home-dir "$home" --shell /bin/bash parley-builder || return 1
  mkdir -p "$checkout" "$home/toolchain"
  cp -r deploy "$checkout/"
  printf 'PATH=%s:$PATH\n' "$home/toolchain" >"$home/.profile"
  cat >"$home/toolchain/swift" <<'SWIFT'
#!/bin/bash
# Builds nothing, and says who asked.
while (($#)); do case $1 in --scratch-path) scratch=$2 ;; --product) product=$2 ;; esac; shift; done
mkdir -p "$scratch/release"
printf '#!/bin/sh\n# %s\n' "$product" >"$scratch/release/$product"
chmod 755 "$scratch/release/$product"
id -un >>"$scratch/builders"
SWIFT
  chmod 755 "$home/toolchain/swift"
  chown -R parley-builder: "$home"
  SUDO_USER=parley-builder PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PARLEY_MIGRATE=0 \
    "$checkout/deploy/install.sh" || return 1
  [[ $(sort -u "$checkout/.build-release/builders") == parley-builder ]] || { cat "$checkout/.build-release/builders"; return 1; }
  [[ -z $(find "$checkout" -user root) ]] || { find "$checkout" -user root; return 1; }
  for name in "${names[@]}"; do grep -qx "# parley-$name" "/usr/bin/parley-$name" || { echo "parley-$name is not installed"; return 1; }; done
  # What root has built before is in the way, and said to be.
  chown root:root "$checkout/.build-release"
  ! SUDO_USER=parley-builder PARLEY_MIGRATE=0 "$checkout/deploy/install.sh" 2>"$layers/said" || return 1
  grep -q "not parley-builder's to write" "$layers/said" || { cat "$layers/said"; return 1; }
}
fact "sudo make deploy builds as the caller, with their toolchain, and installs as root (DF-03)" builds_as_caller

# --- Packages that come with servers
# An apt that starts what it is let, as the packages' scripts do, and a host with a rule of its own.
mkdir "$layers/apt"
cat >"$layers/apt/apt-get" <<'APT'
#!/bin/bash
log=$(dirname "$0")/log
[[ " $* " == *" install "* ]] || exit 0
for unit in prometheus.service nghttpx postgresql@15-main.service dbus.service denied.service; do
  /usr/sbin/policy-rc.d "$unit" start && echo "started $unit" >>"$log"
done
mkdir -p /etc/postgresql-common
if [[ " $* " == *" postgresql "* ]]; then
  grep -q '^create_main_cluster = false' /etc/postgresql-common/createcluster.conf || echo "made a cluster" >>"$log"
else
  [[ -e /etc/postgresql-common/createcluster.conf ]] || echo '# as it came' >/etc/postgresql-common/createcluster.conf
fi
[[ ! -e $(dirname "$0")/broken ]]
APT
printf '#!/bin/sh\ncase $* in *" ii "*) ;; esac\nprintf "ii  libssl3\\n"\n' >"$layers/apt/dpkg-query"
printf '#!/bin/sh\necho "$0 $*" | sed "s|.*/||" >>"$(dirname "$0")/log"\n' | tee "$layers/apt/update-rc.d" >"$layers/apt/systemctl"
chmod 755 "$layers/apt"/*
with_servers() { # LIST...
  rm -f "$layers/apt/log"
  PATH=$layers/apt:$PATH PARLEY_DEPS='' SWIFT=true deploy/local/dependencies.sh "$@"
}
starts_nothing() {
  printf '#!/bin/sh\n[ "$1" != denied.service ] || exit 101\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  rm -rf /etc/postgresql-common
  local rule=$(</usr/sbin/policy-rc.d) broken
  for broken in no yes; do
    if [[ $broken == yes ]]; then touch "$layers/apt/broken"; fi
    with_servers run build local test || [[ $broken == yes ]] || return 1
    [[ $(grep -E '^(started|made)' "$layers/apt/log" | sort -u) == 'started dbus.service' ]] || { cat "$layers/apt/log"; return 1; }
    [[ $(</usr/sbin/policy-rc.d) == "$rule" && ! -e /usr/sbin/policy-rc.d.parley-kept ]] || { echo "another rule is left"; return 1; }
    [[ $(</etc/postgresql-common/createcluster.conf) == '# as it came' ]] || { cat /etc/postgresql-common/createcluster.conf; return 1; }
    if [[ $broken == no ]]; then
      grep -qx 'update-rc.d prometheus disable' "$layers/apt/log" && grep -qx 'systemctl disable nghttpx.service' "$layers/apt/log" || return 1
      ! grep dbus <(grep disable "$layers/apt/log") || return 1
    fi
  done
  rm "$layers/apt/broken"
}
touches_no_others() {
  # They were here before: what has to be updated starts again.
  printf '#!/bin/sh\nfor p in prometheus nghttp2-proxy postgresql postgresql-common; do printf "ii  $p\\n"; done\n' >"$layers/apt/dpkg-query"
  with_servers || return 1
  grep -qx 'started prometheus.service' "$layers/apt/log" && grep -qx 'started postgresql@15-main.service' "$layers/apt/log" \
    && ! grep disable "$layers/apt/log"
}
fact "no server starts because its package was installed, not with the machine either, and nothing stays of that (DF-01)" starts_nothing
fact "and servers that were here before are left alone (DF-01)" touches_no_others
echo "host: ${#names[@]} services installed: $([[ $failed == 0 ]] && echo good || echo NOT GOOD)"
exit "$failed"

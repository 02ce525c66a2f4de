#!/usr/bin/env bash
# Installs the services of the list `services`: of each the binary, the units, the account, the configuration, roles and migrations (for
# reading; the binary carries its own). With DESTDIR it only lays out files there, for a package or an image. Without, it also makes
# the accounts, migrates the database and tells systemd; an existing configuration is never overwritten.
#
#   SERVICES="auth …"     only these of the list
#   PREFIX=/usr           where the binaries go
#   PARLEY_PREBUILT=1     takes .build-release/release/parley-NAME (or $PARLEY_BINARIES/parley-NAME) as it is
#   PARLEY_MIGRATE=0      leaves the database alone
#   PARLEY_DATABASE_AT=host=/run/postgresql   where PostgreSQL answers on this host, as in a connection URL
set -euo pipefail
cd "$(dirname "$0")/.."
root=${DESTDIR:-} prefix=${PREFIX:-/usr}
binaries=${PARLEY_BINARIES:-.build-release/release}

# Descriptions and ports by name, in the order of the list.
names=()
declare -A ports descriptions
while read -r name port description; do
  [[ -z $name || $name == \#* ]] && continue
  names+=("$name") ports[$name]=$port descriptions[$name]=$description
done <deploy/services
if [[ -n ${SERVICES:-} ]]; then
  read -ra names <<<"$SERVICES"
  for name in "${names[@]}"; do
    [[ -n ${ports[$name]:-} ]] || { echo "deploy: there is no service $name in deploy/services" >&2; exit 64; }
  done
fi

if [[ -z $root && $EUID != 0 ]]; then
  echo "deploy: installing on this host needs root (or give a DESTDIR)" >&2
  exit 77
fi
for name in "${names[@]}"; do
  if [[ ${PARLEY_PREBUILT:-} != 1 ]]; then
    deploy/local/build.sh -c release --static-swift-stdlib --scratch-path .build-release --product "parley-$name"
  fi
  [[ -x $binaries/parley-$name ]] || { echo "deploy: there is no $binaries/parley-$name" >&2; exit 66; }
done

put() { # MODE FILE TARGET
  install -D -m "$1" "$2" "$root$3"
  echo "deploy: $root$3"
}

# A template of systemd/ with a service's own words in it, and whatever follows it in the order given.
put_filled() { # NAME TARGET TEMPLATE...
  local name=$1 target=$root$2
  shift 2
  install -D -m 0644 /dev/null "$target"
  cat "$@" | sed -e "s|@service@|$name|g; s|@SERVICE@|${name^^}|g; s|@prefix@|$prefix|g; s|@port@|${ports[$name]}|g" \
    -e "s|@description@|${descriptions[$name]}|g" >"$target"
  echo "deploy: $target"
}
# What a service has of its own besides the template.
own() { if [[ -e $1 ]]; then printf '%s\n' "$1"; fi; }

# The binary that runs stays as .previous, for a rollback; the new one arrives under its name in one step.
put_binary() { # NAME
  local target=$root$prefix/bin/parley-$1
  install -D -m 0755 "$binaries/parley-$1" "$target.new"
  if head -c 4 "$target.new" | grep -q ELF; then strip --strip-unneeded "$target.new"; fi
  if [[ -e $target ]] && ! cmp -s "$target" "$target.new"; then cp -p "$target" "$target.previous"; fi
  mv "$target.new" "$target"
  echo "deploy: $target ($(($(stat -c %s "$target") / 1000)) KB)"
}

put_configuration() { # NAME
  local kept=$root/etc/parley/$1.env
  install -d -m 0750 "$root/etc/parley"
  if [[ ! -e $kept ]]; then
    put 0640 "deploy/$1.env" "/etc/parley/$1.env"
  elif cmp -s "$kept" "deploy/$1.env"; then
    rm -f "$kept.new"
  else
    put 0640 "deploy/$1.env" "/etc/parley/$1.env.new"
    echo "deploy: kept your /etc/parley/$1.env; what is new is in $1.env.new"
  fi
}

put_service() { # NAME
  local name=$1 units=/lib/systemd/system file
  put_binary "$name"
  put_filled "$name" "$units/parley-$name.service" deploy/systemd/parley.service
  put_filled "$name" "$units/parley-$name.socket" deploy/systemd/parley.socket
  if [[ -e deploy/systemd/$name.service.conf ]]; then
    put_filled "$name" "$units/parley-$name.service.d/10-parley.conf" "deploy/systemd/$name.service.conf"
  fi
  put_filled "$name" "/usr/lib/sysusers.d/parley-$name.conf" deploy/systemd/sysusers.conf
  mapfile -t extra < <(own "deploy/systemd/$name.tmpfiles.conf")
  put_filled "$name" "/usr/lib/tmpfiles.d/parley-$name.conf" deploy/systemd/tmpfiles.conf "${extra[@]}"
  while IFS= read -r file; do
    put 0644 "$file" "/usr/share/parley/$name/migrations/$(basename "$file")"
  done < <(find "Sources/Services/${name^}/Store" -name '*.sql' 2>/dev/null | sort)
  put_configuration "$name"
}

for name in "${names[@]}"; do put_service "$name"; done
put 0644 deploy/README.md /usr/share/doc/parley/README.md
put 0644 deploy/sql/roles.sql /usr/share/parley/roles.sql
# Under these names they were installed while there was one service.
rm -f "$root"/usr/lib/{sysusers,tmpfiles}.d/parley.conf "$root/usr/share/parley/auth/roles.sql"

if [[ -n $root ]]; then
  exit 0
fi

echo "deploy: accounts"
for name in "${names[@]}"; do
  systemd-sysusers "/usr/lib/sysusers.d/parley-$name.conf"
  systemd-tmpfiles --create "/usr/lib/tmpfiles.d/parley-$name.conf"
done
if [[ ${PARLEY_MIGRATE:-1} != 0 ]]; then
  at=${PARLEY_DATABASE_AT:-host=/run/postgresql}
  for name in "${names[@]}"; do
    echo "deploy: roles and migrations of $name"
    runuser -u postgres -- psql -w -qX -v "service=$name" -d "postgresql:///postgres?$at" -f /usr/share/parley/roles.sql
    # As the owner, so that the schema is the owner's and the serving role has no more than it is given.
    runuser -u "parley_${name}_owner" -- env \
      "PARLEY_${name^^}_DATABASE_URL=postgresql://parley_${name}_owner@/parley?$at" "$prefix/bin/parley-$name" migrate
  done
fi
if [[ ! -d /run/systemd/system ]]; then
  echo "deploy: systemd does not run here; the units are in place for when it does"
  exit 0
fi
systemctl daemon-reload
for name in "${names[@]}"; do
  if systemctl is-active -q "parley-$name"; then
    systemctl restart "parley-$name"
    echo "deploy: parley-$name is restarted"
  else
    echo "deploy: next: fill in /etc/parley/$name.env, then: systemctl enable --now parley-$name"
  fi
done

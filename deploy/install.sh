#!/usr/bin/env bash
# Installs the services of the list `services`: of each the binary, the units, the account, the configuration, roles and migrations (for
# reading; the binary carries its own). With DESTDIR it only lays out files there, for a package or an image. Without, it also makes
# the accounts, migrates the database and tells systemd; an existing configuration is never overwritten.
#
# Each version of a binary has a folder of its own, PREFIX/lib/parley/NAME/VERSION, and `current` beside them is a link to the one that is
# installed. On a host the new binaries migrate first, of all services; where one fails, nothing else has changed.
#
#   SERVICES="auth …"     only these of the list
#   PREFIX=/usr           where the binaries go
#   PARLEY_PREBUILT=1     takes .build-release/release/parley-NAME (or $PARLEY_BINARIES/parley-NAME) as it is
#   PARLEY_MIGRATE=0      leaves the database alone
#   PARLEY_KEEP=3         how many versions stay, the installed one among them
#   PARLEY_DATABASE_AT=host=/run/postgresql   where PostgreSQL answers on this host, as in a connection URL
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/local/caller.sh
root=${DESTDIR:-} prefix=${PREFIX:-/usr}
binaries=${PARLEY_BINARIES:-.build-release/release} keep=${PARLEY_KEEP:-3}
[[ $keep =~ ^[1-9][0-9]*$ ]] || { echo "deploy: PARLEY_KEEP is a number from 1" >&2; exit 64; }

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
# A host that serves gets what that takes. What building takes comes only where it is done, and that is by whoever called sudo: root has
# neither their toolchain nor any business in their checkout.
if [[ -z $root ]]; then deploy/local/dependencies.sh run; fi
if [[ ${PARLEY_PREBUILT:-} != 1 ]]; then
  deploy/local/dependencies.sh build
  if [[ -e .build-release ]] && ! as_caller test -w .build-release; then
    echo "deploy: .build-release is not ${SUDO_USER:-$(id -un)}'s to write: chown -R it, or remove it" >&2
    exit 73
  fi
fi
for name in "${names[@]}"; do
  if [[ ${PARLEY_PREBUILT:-} != 1 ]]; then
    as_caller deploy/local/build.sh -c release --static-swift-stdlib --scratch-path .build-release --product "parley-$name"
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

# Where the versions of a service are.
versions() { printf '%s\n' "$root$prefix/lib/parley/$1"; }

# Lays out a binary in a folder of its own. It is not the installed one yet.
declare -A staged fresh
stage() { # NAME
  local folder scratch version
  folder=$(versions "$1")
  mkdir -p "$folder"
  scratch=$(mktemp -d "$folder/.new.XXXXXX")
  chmod 755 "$scratch"
  install -m 0755 "$binaries/parley-$1" "$scratch/parley-$1"
  if head -c 4 "$scratch/parley-$1" | grep -q ELF; then strip --strip-unneeded "$scratch/parley-$1"; fi
  version=$(sha256sum "$scratch/parley-$1" | cut -c 1-12)
  if [[ -e $folder/$version ]]; then
    rm -r "$scratch"
  else
    mv -T "$scratch" "$folder/$version"
    fresh[$1]=1
  fi
  staged[$1]=$version
  echo "deploy: $folder/$version ($(($(stat -c %s "$folder/$version/parley-$1") / 1000)) KB)"
}

# What was laid out and did not become the installed one.
unstage() {
  local name
  for name in "${!fresh[@]}"; do rm -rf "$(versions "$name")/${staged[$name]}"; done
}

# Makes what was laid out the installed one, in one step, and removes the oldest.
activate() { # NAME
  local folder link=$root$prefix/bin/parley-$1 old
  folder=$(versions "$1")
  ln -sfn "${staged[$1]}" "$folder/current.new"
  mv -T "$folder/current.new" "$folder/current"
  mkdir -p "$root$prefix/bin"
  ln -sfn "../lib/parley/$1/current/parley-$1" "$link.new"
  mv -T "$link.new" "$link"
  unset "fresh[$1]"
  # The order in which they were installed is that of their times.
  touch "$folder/${staged[$1]}"
  while IFS= read -r old; do rm -rf "${folder:?}/$old"; done < <(
    cd "$folder" && find . -mindepth 1 -maxdepth 1 -type d ! -name '.*' ! -name "${staged[$1]}" -printf '%T@ %f\n' | sort -rn | tail -n +"$keep" \
      | cut -d' ' -f2-)
  echo "deploy: $link -> ${staged[$1]}"
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

put_account() { # NAME
  put_filled "$1" "/usr/lib/sysusers.d/parley-$1.conf" deploy/systemd/sysusers.conf
  mapfile -t extra < <(own "deploy/systemd/$1.tmpfiles.conf")
  put_filled "$1" "/usr/lib/tmpfiles.d/parley-$1.conf" deploy/systemd/tmpfiles.conf "${extra[@]}"
}

put_service() { # NAME
  local name=$1 units=/lib/systemd/system file
  activate "$name"
  put_filled "$name" "$units/parley-$name.service" deploy/systemd/parley.service
  put_filled "$name" "$units/parley-$name.socket" deploy/systemd/parley.socket
  if [[ -e deploy/systemd/$name.service.conf ]]; then
    put_filled "$name" "$units/parley-$name.service.d/10-parley.conf" "deploy/systemd/$name.service.conf"
  fi
  while IFS= read -r file; do
    put 0644 "$file" "/usr/share/parley/$name/migrations/$(basename "$file")"
  done < <(find "Sources/Services/${name^}/Store" -name '*.sql' 2>/dev/null | sort)
}

trap unstage EXIT
for name in "${names[@]}"; do
  stage "$name"
  put_account "$name"
  put_configuration "$name"
done
put 0644 deploy/sql/roles.sql /usr/share/parley/roles.sql

if [[ -z $root ]]; then
  echo "deploy: accounts"
  for name in "${names[@]}"; do
    systemd-sysusers "/usr/lib/sysusers.d/parley-$name.conf"
    systemd-tmpfiles --create "/usr/lib/tmpfiles.d/parley-$name.conf"
  done
fi
if [[ -z $root && ${PARLEY_MIGRATE:-1} != 0 ]]; then
  at=${PARLEY_DATABASE_AT:-host=/run/postgresql}
  for name in "${names[@]}"; do
    echo "deploy: roles and migrations of $name"
    runuser -u postgres -- psql -w -qX -v "service=$name" -d "postgresql:///postgres?$at" -f /usr/share/parley/roles.sql
    # As the owner, so that the schema is the owner's and the serving role has no more than it is given. By the new binary from where it
    # lies: the installed one goes on until all have migrated.
    runuser -u "parley_${name}_owner" -- env "PARLEY_${name^^}_DATABASE_URL=postgresql://parley_${name}_owner@/parley?$at" \
      "$(versions "$name")/${staged[$name]}/parley-$name" migrate || {
      echo "deploy: the migration of $name failed: what was installed before is installed still, and runs" >&2
      exit 70
    }
  done
fi
for name in "${names[@]}"; do put_service "$name"; done
put 0644 deploy/README.md /usr/share/doc/parley/README.md

if [[ -n $root ]]; then
  exit 0
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

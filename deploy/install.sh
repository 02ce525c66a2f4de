#!/usr/bin/env bash
# Installs parley-auth: binary, units, account, configuration, roles and migrations (for reading; the binary carries its own).
# With DESTDIR it only lays out files there, for a package or an image. Without, it also makes the account, migrates the
# database and tells systemd; an existing configuration is never overwritten.
#
#   PREFIX=/usr           where the binary goes
#   PARLEY_PREBUILT=1     takes .build-release/release/parley-auth (or $PARLEY_BINARIES/parley-auth) as it is
#   PARLEY_MIGRATE=0      leaves the database alone
set -euo pipefail
cd "$(dirname "$0")/.."
root=${DESTDIR:-} prefix=${PREFIX:-/usr}
binary=${PARLEY_BINARIES:-.build-release/release}/parley-auth

if [[ -z $root && $EUID != 0 ]]; then
  echo "deploy: installing on this host needs root (or give a DESTDIR)" >&2
  exit 77
fi
if [[ ${PARLEY_PREBUILT:-} != 1 ]]; then
  deploy/local/build.sh -c release --static-swift-stdlib --scratch-path .build-release --product parley-auth
fi
[[ -x $binary ]] || { echo "deploy: there is no $binary" >&2; exit 66; }

put() { # MODE FILE TARGET
  install -D -m "$1" "$2" "$root$3"
  echo "deploy: $root$3"
}

# The binary that runs stays as .previous, for a rollback; the new one arrives under its name in one step.
target=$root$prefix/bin/parley-auth
install -D -m 0755 "$binary" "$target.new"
if head -c 4 "$target.new" | grep -q ELF; then strip --strip-unneeded "$target.new"; fi
if [[ -e $target ]]; then
  if cmp -s "$target" "$target.new"; then :; else cp -p "$target" "$target.previous"; fi
fi
mv "$target.new" "$target"
echo "deploy: $target ($(($(stat -c %s "$target") / 1000)) KB)"

put 0644 deploy/systemd/parley-auth.service /lib/systemd/system/parley-auth.service
sed -i "s|/usr/bin/parley-auth|$prefix/bin/parley-auth|" "$root/lib/systemd/system/parley-auth.service"
put 0644 deploy/systemd/parley-auth.socket /lib/systemd/system/parley-auth.socket
put 0644 deploy/systemd/parley-sysusers.conf /usr/lib/sysusers.d/parley.conf
put 0644 deploy/systemd/parley-tmpfiles.conf /usr/lib/tmpfiles.d/parley.conf
put 0644 deploy/README.md /usr/share/doc/parley/README.md
put 0644 deploy/sql/auth-roles.sql /usr/share/parley/auth/roles.sql
while IFS= read -r file; do
  put 0644 "$file" "/usr/share/parley/auth/migrations/$(basename "$file")"
done < <(find Sources/Services/Auth/Store -name '*.sql' 2>/dev/null | sort)

install -d -m 0750 "$root/etc/parley"
if [[ -e $root/etc/parley/auth.env ]]; then
  put 0640 deploy/auth.env /etc/parley/auth.env.new
  if cmp -s "$root/etc/parley/auth.env" "$root/etc/parley/auth.env.new"; then
    rm "$root/etc/parley/auth.env.new"
  else
    echo "deploy: kept your /etc/parley/auth.env; what is new is in auth.env.new"
  fi
else
  put 0640 deploy/auth.env /etc/parley/auth.env
fi

if [[ -n $root ]]; then
  exit 0
fi

echo "deploy: account"
systemd-sysusers /usr/lib/sysusers.d/parley.conf
systemd-tmpfiles --create /usr/lib/tmpfiles.d/parley.conf
if [[ ${PARLEY_MIGRATE:-1} != 0 ]]; then
  echo "deploy: roles and migrations"
  admin=${PARLEY_AUTH_ADMIN_DATABASE_URL:-postgresql:///parley?host=/run/postgresql}
  runuser -u postgres -- psql -w -qX -d "${admin/\/parley\?//postgres?}" -f /usr/share/parley/auth/roles.sql
  runuser -u postgres -- env PARLEY_AUTH_DATABASE_URL="$admin" "$target" migrate --bootstrap
fi
if [[ -d /run/systemd/system ]]; then
  systemctl daemon-reload
  if systemctl is-active -q parley-auth; then
    systemctl restart parley-auth
    echo "deploy: parley-auth is restarted"
  else
    echo "deploy: next: fill in /etc/parley/auth.env, then: systemctl enable --now parley-auth"
  fi
else
  echo "deploy: systemd does not run here; the unit is in place for when it does"
fi

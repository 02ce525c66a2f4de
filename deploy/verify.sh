#!/usr/bin/env bash
# Judges what `make deploy` lays out: the units by systemd-analyze verify, their exposure by systemd-analyze security (at most
# 1.5), the files' modes. It installs into a folder of its own; nothing on this host changes.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v systemd-analyze >/dev/null; then
  echo "verify: systemd-analyze is missing: apt-get install systemd" >&2
  exit 69
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/binaries"
if [[ ${PARLEY_PREBUILT:-} != 1 ]]; then
  # The unit's rules do not depend on what the binary does.
  cp /bin/true "$root/binaries/parley-auth"
  export PARLEY_PREBUILT=1 PARLEY_BINARIES=$root/binaries
fi
DESTDIR=$root/host deploy/install.sh >/dev/null
host=$root/host

failed=0
fact() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$root/out" 2>&1; then echo "ok   $name"; else echo "FAIL $name"; sed 's/^/     /' "$root/out"; failed=1; fi
}
# verify resolves the command on the host it runs on: a copy of the unit names the binary where it is now.
units=$root/units
mkdir "$units"
cp "$host"/lib/systemd/system/parley-auth.* "$units/"
sed -i "s|=/usr/bin/parley-auth|=$host/usr/bin/parley-auth|; s|^Documentation=.*||" "$units/parley-auth.service"
verified() { local said; said=$(systemd-analyze verify --man=no "$units/$1" 2>&1) || { echo "$said"; return 1; }; echo "$said"; ! grep -q "parley-auth" <<<"$said"; }
mode() { [[ $(stat -c %a "$host$1") == "$2" ]] || { stat -c '%a %n' "$host$1"; return 1; }; }

fact "parley-auth.service verifies" verified parley-auth.service
fact "parley-auth.socket verifies" verified parley-auth.socket
fact "its exposure is at most 1.5" systemd-analyze security --offline=yes --threshold=15 "$units/parley-auth.service"
grep -oE 'Overall exposure level.*' "$root/out" || true
fact "the configuration is not for everybody" mode /etc/parley/auth.env 640
fact "nor is its folder" mode /etc/parley 750
fact "the binary is" mode /usr/bin/parley-auth 755
fact "the account's declaration is understood" systemd-sysusers --dry-run "$host/usr/lib/sysusers.d/parley.conf"
echo '# mine' >>"$host/etc/parley/auth.env"
DESTDIR=$host deploy/install.sh >/dev/null
fact "a second installation keeps the configuration" grep -q '^# mine' "$host/etc/parley/auth.env"
exit "$failed"

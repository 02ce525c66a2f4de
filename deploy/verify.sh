#!/usr/bin/env bash
# Judges what `make deploy` lays out, for every service of the list: the units by systemd-analyze verify, their exposure by
# systemd-analyze security (at most 1.5), that ffmpeg runs within what onboarding's unit forbids, the files' modes, the packages that a host
# gets, and the example configurations and default ports by the programs themselves. It installs into a folder of its own; nothing on this
# host changes.
#
#   PARLEY_TEST_BINARIES   where the programs are that say what their settings are (.build/debug)
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v systemd-analyze >/dev/null; then
  echo "verify: systemd-analyze is missing: apt-get install systemd" >&2
  exit 69
fi
programs=${PARLEY_TEST_BINARIES:-$PWD/${SCRATCH:-.build}/${CONFIG:-debug}}
mapfile -t names < <(sed -nE 's/^([a-z]+) .*/\1/p' deploy/services)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/binaries"
if [[ ${PARLEY_PREBUILT:-} != 1 ]]; then
  # The units' rules do not depend on what the binaries do.
  for name in "${names[@]}"; do cp /bin/true "$root/binaries/parley-$name"; done
  export PARLEY_PREBUILT=1 PARLEY_BINARIES=$root/binaries
fi
host=$root/host
DESTDIR=$host deploy/install.sh >/dev/null

failed=0
fact() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$root/out" 2>&1; then echo "ok   $name"; else echo "FAIL $name"; sed 's/^/     /' "$root/out"; failed=1; fi
}
# verify resolves the command on the host it runs on: copies of the units name the binaries where they are now.
units=$root/units
mkdir "$units"
cp -r "$host"/lib/systemd/system/parley-* "$units/"
for name in "${names[@]}"; do
  sed -i "s|=/usr/bin/parley-|=$host/usr/bin/parley-|; s|^Documentation=.*||" "$units/parley-$name.service"
done
verified() { local said; said=$(systemd-analyze verify --man=no "$units/$1" 2>&1) || { echo "$said"; return 1; }; echo "$said"; ! grep -q "parley-" <<<"$said"; }
exposed() { systemd-analyze security --offline=yes --threshold=15 "$units/$1"; }
filled() { ! grep -rn '@[a-zA-Z]*@' "$host"/lib/systemd/system/parley-* "$host/usr/lib/sysusers.d" "$host/usr/lib/tmpfiles.d"; }
mode() { [[ $(stat -L -c %a "$host$1") == "$2" ]] || { stat -L -c '%a %n' "$host$1"; return 1; }; }
# By links within the folder, wherever that is unpacked.
linked() { # NAME
  local folder=$host/usr/lib/parley/$1
  [[ $(readlink "$host/usr/bin/parley-$1") == ../lib/parley/$1/current/parley-$1 ]] || { ls -l "$host/usr/bin"; return 1; }
  [[ $(readlink "$folder/current") =~ ^[0-9a-f]{12}$ && -x $folder/current/parley-$1 ]] || { ls -l "$folder"; return 1; }
}
listed() { PARLEY_DEPS_PRINT=1 deploy/local/dependencies.sh "$@"; }
# Every library that a program names is in a package of the list, or in one that every Debian has.
runs_with() { # PROGRAM
  local library file package list failed=0
  list=$(listed run)
  while read -r library; do
    file=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
    # Swift's own are linked into what is released.
    [[ -n $file ]] || continue
    package=$(dpkg -S "$(readlink -f "$file")" "$file" 2>/dev/null | sed -E 's/(:[a-z0-9]+)?:.*//; q')
    case $package in libc6 | libgcc-s1 | libstdc++6) continue ;; esac
    grep -qxF "${package%t64}" <<<"$list" || { echo "$library is in $package, which the list run lacks"; failed=1; }
  done < <(objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }')
  return "$failed"
}
only_running() {
  ! listed run | grep -E -e '-dev$|^(gcc|binutils|pkg-config|postgresql|prometheus|valgrind|nghttp2-.*|protobuf-compiler|python3.*)$'
}
# The installer asks for what it needs itself: make has nothing else installed before it.
asks_itself() { ! make -n deploy | grep dependencies; }
at_its_port() { # NAME
  local port
  port=$(awk -v name="$1" '$1 == name { print $2 }' deploy/services)
  python3 - "$programs/parley-$1" "$1" "$port" <<'PYTHON'
import subprocess, sys

program, name, port = sys.argv[1:]
wanted = f"127.0.0.1:{port}"
wrong = []
asked = subprocess.run([program, "health", "--timeout", "100ms"], env={}, capture_output=True, text=True)
if asked.returncode not in (0, 2) or (asked.returncode == 2 and wanted not in asked.stderr):
    wrong.append(f"health, without any setting: {asked.returncode}, {asked.stderr}")
if f"PARLEY_{name.upper()}_LISTEN={wanted}\n" not in open(f"deploy/{name}.env").read():
    wrong.append(f"{name}.env: another port than {port}")
print("\n".join(wrong))
raise SystemExit(1 if wrong else 0)
PYTHON
}
confined() { deploy/confined.py "$units/parley-onboarding.service" "$@"; }
# Everything that looking into a recording takes: sound is made, pressed into AAC, and read again.
ffmpeg_runs() {
  confined ffmpeg -nostdin -v error -f lavfi -i sine=duration=1 -c:a aac -f mp4 -y "$root/tone.m4a" \
    && confined ffprobe -v error -show_entries format=duration -of csv=p=0 "$root/tone.m4a" \
    && confined ffmpeg -nostdin -v error -i "$root/tone.m4a" -f s16le -y "$root/tone.pcm" && [[ -s $root/tone.pcm ]]
}
refused() { ! confined "$@"; }

# What tells anybody what there is, and is open in development (B-51).
closed() { grep -qxF "PARLEY_${1^^}_REFLECTION=false" "$host/etc/parley/$1.env"; }
# A line for each call: the journal's own limit is 10,000 in 30 s, and takes errors along.
whole_log() { local burst; burst=$(sed -n 's/^LogRateLimitBurst=//p' "$units/parley-$1.service"); ((burst >= 600000)); }

fact "every word of the templates is filled in" filled
for name in "${names[@]}"; do
  fact "parley-$name.service verifies" verified "parley-$name.service"
  fact "parley-$name.socket verifies" verified "parley-$name.socket"
  fact "its exposure is at most 1.5" exposed "parley-$name.service"
  grep -oE 'Overall exposure level.*' "$root/out" || true
  fact "the account of $name is understood" systemd-sysusers --dry-run "$host/usr/lib/sysusers.d/parley-$name.conf"
  fact "the configuration of $name is not for everybody" mode "/etc/parley/$name.env" 640
  fact "the program of $name is" mode "/usr/bin/parley-$name" 755
  fact "and a link to its version, wherever the root is (DF-02)" linked "$name"
  fact "the list run has every library of $name (DF-01)" runs_with "$programs/parley-$name"
  fact "$name.env closes what is open in development" closed "$name"
  fact "the journal takes a line for each call of $name" whole_log "$name"
  fact "$name is at its port of the list without any setting, and asked there (DF-05)" at_its_port "$name"
  fact "$name.env has every setting, with its default" deploy/settings.py "$programs/parley-$name" "deploy/$name.env"
done
# As at the start of a machine that has the accounts; only root may give files away.
owned() {
  local name said
  echo secret >"$host/etc/parley/onboarding-openai-key"
  systemd-sysusers --root="$host" && systemd-tmpfiles --create --root="$host" --prefix=/etc/parley || return 1
  group() { awk -F: -v id="$(stat -c %g "$host/etc/parley/$1")" '$3 == id { print $1 }' "$host/etc/group"; }
  for name in "${names[@]}"; do
    [[ $(group "$name.env") == "parley_$name" ]] || { echo "$name.env: group $(group "$name.env")"; return 1; }
    grep -q "^parley:.*parley_$name" "$host/etc/group" || { echo "parley_$name is not in the group parley"; return 1; }
  done
  [[ $(group .) == parley && $(group onboarding-openai-key) == parley_onboarding ]] || { group .; return 1; }
  [[ $(stat -c %a "$host/etc/parley/onboarding-openai-key") == 640 ]]
}
if [[ $EUID == 0 ]]; then fact "each service can read its own settings and secrets, and no other's" owned; fi
fact "a host that serves gets no compiler, no server and no tool of tests (DF-01)" only_running
fact "and make deploy has nothing else installed (DF-01)" asks_itself
fact "the folder of the configuration is not for everybody" mode /etc/parley 750
if command -v ffmpeg >/dev/null; then
  fact "ffmpeg and ffprobe run within what onboarding's unit forbids" ffmpeg_runs
  fact "which forbids what no service needs" refused unshare --mount true
else
  echo "FAIL ffmpeg is missing: apt-get install ffmpeg"
  failed=1
fi
for name in "${names[@]}"; do echo '# mine' >>"$host/etc/parley/$name.env"; done
DESTDIR=$host deploy/install.sh >/dev/null
kept() { local name; for name in "${names[@]}"; do grep -q '^# mine' "$host/etc/parley/$name.env" || return 1; done; }
fact "a second installation keeps the configurations" kept
# Each a version of its own, as bytes at the end make one.
keeps() {
  local number name=${names[0]} folder first
  folder=$host/usr/lib/parley/$name
  first=$(readlink "$folder/current")
  mkdir "$root/other"
  for number in 1 2 3 4; do
    { cat "$root/any"; echo "# $number"; } >"$root/other/parley-$name"
    chmod 755 "$root/other/parley-$name"
    SERVICES=$name PARLEY_KEEP=3 PARLEY_PREBUILT=1 PARLEY_BINARIES=$root/other DESTDIR=$host deploy/install.sh >/dev/null || return 1
    [[ $(tail -n 1 "$folder/current/parley-$name") == "# $number" ]] || { echo "version $number is not installed"; return 1; }
  done
  [[ $(find "$folder" -mindepth 1 -maxdepth 1 -type d | wc -l) == 3 && ! -e $folder/$first ]] || { ls -la "$folder"; return 1; }
  for number in 2 3 4; do grep -qx "# $number" "$folder"/*/"parley-$name" || { echo "version $number is gone"; return 1; }; done
}
printf '#!/bin/sh\nexit 0\n' >"$root/any"
fact "three versions of a program stay, the newest of them installed (DF-02)" keeps
echo "verify: ${#names[@]} services (${names[*]}): $([[ $failed == 0 ]] && echo good || echo NOT GOOD)"
exit "$failed"

#!/usr/bin/env bash
# dependencies.sh [LIST...]: installs the Debian packages of these lists (of all without any), and only those that are missing.
#
#   run     what a host needs on which the services run
#   build   what building them takes, on top of a Swift toolchain
#   local   what `make run` starts beside them
#   test    what the tests, benchmarks and judges call, and generating sources
#
# No server starts because its package came: while packages are installed those that come with one are kept from starting, and afterwards
# they are not started with the machine either. What was installed before is left alone.
# PARLEY_DEPS=skip trusts the machine as it is (for builders without a package manager).
set -euo pipefail
. "$(dirname "$0")/caller.sh"

# list name                  what needs it
listed='
run   libnghttp2-14          # HTTP/2 framing
run   libssl3                # TLS and signatures
run   libprotobuf-c1         # message packing
run   libpq5                 # PostgreSQL client
run   libcurl4               # outbound HTTP
run   zlib1g                 # compressed messages
run   ffmpeg                 # reading recordings: ffprobe and ffmpeg, each as a limited subprocess
run   openssl                # keys and certificates, as the guide makes them
run   postgresql-client      # roles, by psql
run   util-linux             # migrations as another account, by runuser

build libnghttp2-dev         # the headers of the libraries above
build libssl-dev
build libprotobuf-c-dev
build libpq-dev
build libcurl4-openssl-dev
build zlib1g-dev
build pkg-config             # finds them
build binutils               # strip

local postgresql             # the private clusters of run and test
local nghttp2-proxy          # nghttpx, the edge
local openssl                # certificates of the local edge
local curl                   # HTTP/1.1 and HTTP/2 caller
local util-linux             # runuser, setsid, taskset, flock
local procps                 # ps, used when something does not stop
local python3                # free ports

test  gcc                    # the C floor of the benchmarks
test  protobuf-compiler      # make proto
test  libprotobuf-dev        # the .proto files of google.protobuf
test  nghttp2-client         # h2load
test  nghttp2-server         # nghttpd, a reference row of the benchmarks
test  python3-venv           # outside clients
test  valgrind               # make bench-check
test  iproute2               # make chaos: links that go down and grow slow
test  nftables               # make chaos: links that drop everything
test  prometheus             # promtool, which judges deploy/monitoring
test  testssl.sh             # make testssl
test  espeak-ng              # the spoken recordings of the tests
'
# Servers that are used as programs, or not at all: the package, and its service.
declare -A services=([nghttp2-proxy]=nghttpx [prometheus]=prometheus)

lists=("$@")
((${#lists[@]})) || lists=(run build local test)
packages=()
for list in "${lists[@]}"; do
  mapfile -t chosen < <(awk -v list="$list" '$1 == list { print $2 }' <<<"$listed")
  ((${#chosen[@]})) || { echo "deps: there is no list $list; there are run, build, local and test" >&2; exit 64; }
  for package in "${chosen[@]}"; do [[ " ${packages[*]-} " == *" $package "* ]] || packages+=("$package"); done
done
if [[ ${PARLEY_DEPS_PRINT:-} == 1 ]]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi
[[ ${PARLEY_DEPS:-} == skip ]] && exit 0

swift=${SWIFT:-swift}
if [[ " ${lists[*]} " == *" build "* ]] && ! as_caller bash -c 'command -v "$0" >/dev/null' "$swift"; then
  echo "deps: no Swift toolchain: '$swift' is not on PATH. Install Swift 6.2 or newer from https://www.swift.org/install/linux/" >&2
  exit 69
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "deps: this machine has no apt. Install the equivalents of these Debian packages by hand, then set PARLEY_DEPS=skip:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 69
fi

# A virtual or renamed package counts when something installed provides it (pkg-config is provided by pkgconf on newer systems).
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Provides}\n' 2>/dev/null \
  | awk '$1 == "ii" { print $2; for (i = 3; i <= NF; i++) { gsub(/[(,].*/, "", $i); if ($i != "") print $i } }' | sort -u)
has() { grep -qxF "$1" <<<"$installed"; }
missing=()
for package in "${packages[@]}"; do has "$package" || missing+=("$package"); done
if ((${#missing[@]} == 0)); then
  exit 0
fi

echo "deps: ${#missing[@]} of ${#packages[@]} Debian packages are missing: ${missing[*]}"
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "deps: not root and no sudo. As root, run: PARLEY_DEPS= $0 ${lists[*]}" >&2
    exit 77
  fi
  exec sudo env "SWIFT=$swift" "$0" "${lists[@]}"
fi

# --- What holds servers back, only while packages are installed. An own policy of this machine is put aside and asked for all others.
policy=/usr/sbin/policy-rc.d kept=/usr/sbin/policy-rc.d.parley-kept mark='# By deploy/local/dependencies.sh: only while packages are installed.'
clusters=/etc/postgresql-common/createcluster.conf kept_clusters=/etc/postgresql-common/createcluster.conf.parley-kept
release() {
  if [[ -e $policy ]] && grep -qxF "$mark" "$policy"; then rm -f "$policy"; fi
  if [[ -e $kept ]]; then mv "$kept" "$policy"; fi
  if [[ -e $kept_clusters ]]; then mv "$kept_clusters" "$clusters"; fi
}
hold() {
  local names=() package
  for package in "${missing[@]}"; do
    if [[ -n ${services[$package]:-} ]]; then names+=("${services[$package]}" "${services[$package]}.service"); fi
    if [[ $package == postgresql ]]; then names+=(postgresql postgresql.service 'postgresql@*'); fi
  done
  ((${#names[@]})) || return 0
  if [[ -e $policy ]]; then mv "$policy" "$kept"; fi
  printf '#!/bin/sh\n%s\ncase "$1" in %s) exit 101 ;; esac\n[ ! -x %s ] || exec %s "$@"\n' \
    "$mark" "$(IFS='|'; printf '%s' "${names[*]}")" "$kept" "$kept" >"$policy"
  chmod 755 "$policy"
}
# What a run that was killed has left.
release
trap release EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
hold

apt() {
  env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"
}
install() { # PACKAGE...
  apt install -y --no-install-recommends -o Dpkg::Progress-Fancy=0 -o APT::Status-Fd=1 "$@" 2>&1 \
    | awk -F: '
        /^pmstatus:|^dlstatus:/ { n = int($3 / 10) * 10; if (n != last[$1]) { last[$1] = n
          printf "deps: %s %3d %%\n", ($1 == "dlstatus" ? "downloading" : "installing "), n; fflush() } next }
        /^E: |^W: |rror/ { print "deps: " $0 > "/dev/stderr" }'
}
# PostgreSQL's package makes a cluster that starts with the machine. Its settings say whether, and come with another package.
install_all() {
  if [[ " ${missing[*]} " == *" postgresql "* && ! -e $kept_clusters ]]; then
    if ! has postgresql-common; then install postgresql-common || return; fi
    if [[ -e $clusters ]]; then
      cp -p "$clusters" "$kept_clusters"
      printf 'create_main_cluster = false\n' >>"$clusters"
    fi
  fi
  install "${missing[@]}"
}
# The package lists are fetched only when they are absent or the first attempt fails: usually they are good enough.
if ! compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
  echo "deps: fetching the package lists"
  apt update -q >/dev/null
fi
if ! install_all; then
  echo "deps: fetching newer package lists and trying again"
  apt update -q >/dev/null
  install_all || { echo "deps: apt-get could not install: ${missing[*]}" >&2; exit 69; }
fi
for package in "${missing[@]}"; do
  if [[ -n ${services[$package]:-} ]]; then
    update-rc.d "${services[$package]}" disable >/dev/null 2>&1 || true
    if command -v systemctl >/dev/null; then systemctl disable "${services[$package]}.service" >/dev/null 2>&1 || true; fi
    echo "deps: ${services[$package]} is installed and does not start by itself"
  fi
done
echo "deps: done"

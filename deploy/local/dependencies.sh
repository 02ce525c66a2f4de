#!/usr/bin/env bash
# Installs the Debian packages that building, running and testing need, and only those that are missing.
# With PARLEY_DEPS=skip it trusts the machine as it is (for builders without a package manager).
set -euo pipefail

# name                       what needs it
packages=(
  libnghttp2-dev           # HTTP/2 framing
  libssl-dev               # TLS and signatures
  libprotobuf-c-dev        # message packing
  libpq-dev                # PostgreSQL client
  zlib1g-dev               # compressed messages
  libcurl4-openssl-dev     # outbound HTTP
  pkg-config               # finds the six above
  gcc                      # the C floor of the benchmarks
  protobuf-compiler        # make proto
  libprotobuf-dev          # the .proto files of google.protobuf
  postgresql               # the private clusters of run and test
  nghttp2-proxy            # nghttpx, the edge
  nghttp2-client           # h2load
  nghttp2-server           # nghttpd, a reference row of the benchmarks
  openssl                  # certificates of the local edge
  curl                     # HTTP/1.1 and HTTP/2 caller
  python3-venv             # outside clients
  util-linux               # runuser, setsid, taskset, flock
  procps                   # ps, used when something does not stop
  valgrind                 # make bench-check
  iproute2                 # make chaos: links that go down and grow slow
  nftables                 # make chaos: links that drop everything
  prometheus               # promtool, which judges deploy/monitoring
  testssl.sh               # make testssl
  ffmpeg                   # reading recordings: ffprobe and ffmpeg, each as a limited subprocess
  espeak-ng                # the spoken recordings of the tests
)

[[ ${PARLEY_DEPS:-} == skip ]] && exit 0

swift=${SWIFT:-swift}
if ! command -v "$swift" >/dev/null; then
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
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

echo "deps: ${#missing[@]} of ${#packages[@]} Debian packages are missing: ${missing[*]}"
as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "deps: not root and no sudo. As root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 77
  fi
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"
}
install() {
  apt install -y --no-install-recommends -o Dpkg::Progress-Fancy=0 -o APT::Status-Fd=1 "${missing[@]}" 2>&1 \
    | awk -F: '
        /^pmstatus:|^dlstatus:/ { n = int($3 / 10) * 10; if (n != last[$1]) { last[$1] = n
          printf "deps: %s %3d %%\n", ($1 == "dlstatus" ? "downloading" : "installing "), n; fflush() } next }
        /^E: |^W: |rror/ { print "deps: " $0 > "/dev/stderr" }'
}
# The package lists are fetched only when they are absent or the first attempt fails: usually they are good enough.
if ! compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
  echo "deps: fetching the package lists"
  apt update -q >/dev/null
fi
if ! install; then
  echo "deps: fetching newer package lists and trying again"
  apt update -q >/dev/null
  install || { echo "deps: apt-get could not install: ${missing[*]}" >&2; exit 69; }
fi
echo "deps: done"

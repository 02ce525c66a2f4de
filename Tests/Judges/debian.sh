# Sourced by the scripts that build judges from what Debian has: packages for them alone, and source packages.
#
#   debian_install PACKAGE...              those that are missing
#   debian_source NAME=VERSION FOLDER [PATH...]   the upstream source of a source package (only these paths of it), unpacked
#
# The machine's own package sources are not touched: source packages are found by a copy of them, kept in .local/judges/apt.
set -euo pipefail

debian_as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

debian_install() {
  local package missing=()
  for package; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  echo "judges: installing ${missing[*]}"
  local options=(-y -qq --no-install-recommends -o DPkg::Lock::Timeout=300)
  debian_as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install "${missing[@]}" >/dev/null && return 0
  debian_as_root apt-get -qq update
  debian_as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install "${missing[@]}" >/dev/null
}

debian_source() {
  local wanted=$1 folder=$2 apt=$PWD/.local/judges/apt file
  shift 2
  mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/archives/partial" "$folder"
  rm -f "$apt/sources"/*
  # Only what comes from Debian: the two forms that a machine may have.
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -f $file ]] && grep -q 'debian' "$file" && grep -q '^Types:.*deb' "$file" && grep -qE '^URIs:.*debian' "$file" \
      && sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/sources/$(basename "$file")"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -f $file ]] && grep -hE '^deb .*debian\.org' "$file" | sed 's/^deb /deb-src /' >>"$apt/sources/debian.list"
  done
  local options=(
    -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources" -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache::archives=$apt/archives" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (
    cd "$apt/archives"
    apt-get "${options[@]}" source --download-only "$wanted"
    file=$(ls -t -- *.orig.tar.* | grep -v '\.asc$' | grep "^${wanted%%=*}_" | head -n 1)
    local top
    top=$(tar -tf "$file" 2>/dev/null | head -n 1 | cut -d / -f 1) || true
    tar -xf "$file" -C "$folder" --strip-components 1 "${@/#/$top/}"
  )
}

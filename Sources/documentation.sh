#!/usr/bin/env bash
# documentation.sh: `make docs`, once everything is built. Writes the pages of every library into .local/docs.
#
# The compiler's modules hold the doc comments: their symbol graphs are taken out of them and given to the toolchain's own docc in one
# run, so that libraries may link to each other (``RPC/RPCError``). Any warning is an error, and so is a public declaration without a
# comment. The articles are in Documentation.docc.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=${SCRATCH:-.build} configuration=${CONFIG:-debug} swift=${SWIFT:-swift}
tools=$(dirname "$(readlink -f "$(command -v "$swift")")")
products=$scratch/$configuration
output=.local/docs
[[ -x $tools/docc ]] || { echo "docs: $tools has no docc" >&2; exit 69; }
[[ -d $products/Modules ]] || { echo "docs: nothing is built in $products" >&2; exit 66; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$swift" package --scratch-path "$scratch" describe --type json >"$work/package.json"
mapfile -t libraries < <("${PYTHON:-python3}" -c 'import json, sys
for target in json.load(open(sys.argv[1]))["targets"]:
    if target["type"] == "library" and target["module_type"] == "SwiftTarget" and target["path"].startswith("Sources/"):
        print(target["name"])' "$work/package.json" | sort)

# The C modules that the libraries import, and those of the packages beside them.
maps=()
for map in Sources/C/*/module.modulemap "$products"/*.build/module.modulemap "$scratch"/checkouts/*/Sources/*/include/module.modulemap; do
  [[ -e $map ]] && maps+=(-Xcc "-fmodule-map-file=$PWD/${map#"$PWD/"}")
done
mapfile -t systems < <(sed -nE 's/.*pkgConfig: "([^"]+)".*/\1/p' Package.swift)
read -ra includes <<<"$(pkg-config --cflags-only-I "${systems[@]}")"
for include in "${includes[@]}"; do maps+=(-Xcc "$include"); done
target=$("$swift" -print-target-info | "${PYTHON:-python3}" -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')
mkdir "$work/graphs"
for library in "${libraries[@]}"; do
  "$swift" symbolgraph-extract -module-name "$library" -I "$products/Modules" -target "$target" "${maps[@]}" \
    -minimum-access-level public -skip-synthesized-members -skip-inherited-docs -module-cache-path "$work/cache" \
    -output-dir "$work/graphs"
done
echo "docs: the symbols of ${#libraries[@]} libraries"

"${PYTHON:-python3}" Sources/undocumented.py "$work/graphs"
rm -rf "$output"
mkdir -p "$(dirname "$output")"
"$tools/docc" convert Sources/Documentation.docc --additional-symbol-graph-dir "$work/graphs" --output-dir "$output" \
  --fallback-display-name Parley --fallback-bundle-identifier parley --warnings-as-errors
echo "docs: $(find "$output/data" -name '*.json' | wc -l) pages in $output; to read them: python3 -m http.server -d $output"

#!/usr/bin/env bash
# venv.sh DIRECTORY REQUIREMENTS: the Python environment of the outside clients. Rebuilt when the requirements change.
set -euo pipefail
directory=$1 requirements=$2
python=${PYTHON:-python3}
stamp=$directory/.requirements
wanted="$("$python" --version) $(sha256sum <"$requirements")"
if [[ -x $directory/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
  touch "$stamp"
  exit 0
fi
echo "venv: installing $(grep -cv '^#' "$requirements") Python packages into $directory"
rm -rf "$directory"
mkdir -p "$(dirname "$directory")"
"$python" -m venv "$directory"
"$directory/bin/python" -m pip --disable-pip-version-check --no-input install -q --only-binary :all: -r "$requirements"
printf '%s\n' "$wanted" >"$stamp"
echo "venv: done"

#!/usr/bin/env bash
# Removes what builds and runs leave in the checkout. Every private cluster is found by its mark and deleted with its data.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [[ -d .local ]]; then
  for mark in .local/*/.parley-cluster; do
    [[ -e $mark ]] || continue
    deploy/local/postgres.sh reset --dir "$(basename "$(dirname "$mark")")"
  done
fi
rm -rf .build .build-* .local
echo "clean: done"

#!/usr/bin/env bash
# Breaks every law of laws.sh in a tree of its own and checks that each is noticed, and that a lawful tree passes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

lay() { mkdir -p "$tree/$(dirname "$1")"; cat >"$tree/$1"; }
lay Package.swift <<'X'
  .package(url: "https://example.org/apple/swift-log.git", exact: "1.0.0"),
X
lay Sources/README.md <<<'swift-log 1.0.0'
for floor in Sources/Runtime Sources/Platform Tests Tests/Benchmarks deploy proto; do lay "$floor/README.md" <<<map; done
lay Sources/Runtime/HTTP2/Session.swift <<'X'
import CNghttp2
// SAFETY: confined to one loop.
final class Session: @unchecked Sendable {}
X
lay deploy/ok.sh <<<'set -euo pipefail'
if ! "$here/laws.sh" "$tree" >"$tree.out" 2>&1; then
  echo "laws-notice: a lawful tree was refused:"; cat "$tree.out"; exit 1
fi
rm -f "$tree.out"

lay scripts/thing.txt <<<x
rm "$tree/Sources/Platform/README.md"
seq 41 | lay Sources/Executables/parley/main.swift
seq 601 | lay Sources/Runtime/RPC/Long.swift
lay Sources/Runtime/RPC/Unfinished.swift <<<'// TODO later'
lay Sources/Runtime/RPC/Crash.swift <<<'let x = try! f()'
lay Tests/Runtime/Unsafe.swift <<'X'
// SAFETY: this one holds.
let a = 1
final class Box: @unchecked Sendable {}
X
lay Sources/Runtime/RPC/Names.swift <<<'struct ConnectionManager {}'
lay Sources/Platform/JOSE/Foundation.swift <<<'public import Foundation'
lay Sources/Services/Auth/Domain/Impure.swift <<<'import Glibc'
lay Sources/Platform/JOSE/Owner.swift <<<'internal import CCurl'
lay Sources/Providers/Google/Print.swift <<<'  print("x")'
lay Sources/Platform/Jobs/Bell.swift <<<'  let rings: AsyncStream<Void>'
lay Tests/Runtime/Sleeps.swift <<<'try await Task.sleep(for: .seconds(1))'
lay Tests/Runtime/Crowded.swift <<<'@Test("B-01 B-02 B-03 B-04: all at once")'
lay Package.swift <<'X'
  .package(url: "https://example.org/apple/swift-log.git", from: "1.0.0"),
  .package(url: "https://example.org/apple/swift-metrics.git", exact: "2.0.0"),
X
lay deploy/lenient.sh <<<'pkill parley'
lay Tests/Clients/port.py <<<'connect("localhost:8080")'

if report=$("$here/laws.sh" "$tree" 2>&1); then
  echo "laws-notice: a tree that breaks every law was accepted"; exit 1
fi
missed=0
while read -r name; do
  grep -qF "law broken: $name (" <<<"$report" || { echo "laws-notice: not noticed: $name"; missed=1; }
done < <(grep -oE "law '[^']+'" "$here/laws.sh" | cut -d"'" -f2)
exit "$missed"

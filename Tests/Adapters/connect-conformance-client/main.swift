import Glibc

do {
  try ConformanceClient(usesUnaryCalls: CommandLine.arguments.contains("--unary")).run()
} catch {
  let line = Array("connect-conformance-client: \(error)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
  exit(1)
}

import EventLoop
import Glibc

// Before any other thread exists, so that all of them leave the signals to `ConformanceServer`.
TerminationSignals.hold()
do {
  try ConformanceServer().run()
} catch {
  let line = Array("connect-conformance-server: \(error)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
  exit(1)
}

import Glibc

/// Where the sandbox says what it does: one line for each thing, never with a token or key in it.
struct LogLines: Sendable {
  /// Takes a line without its end.
  let write: @Sendable (String) -> Void

  /// The process's standard error.
  static let standardError = LogLines { line in
    let bytes = Array("parley-sandbox: \(line)\n".utf8)
    // One call for a whole line, so that lines of several threads do not mix. Nobody can be told that it failed.
    _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }

  /// Nowhere.
  static let none = LogLines { _ in }
}

/// Why a program did not run to its end.
public struct SubprocessError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and metrics.
    public let description: String

    /// There is no such program, or none that may be run.
    public static let programMissing = Code(description: "program_missing")
    /// The system could not start it.
    public static let startFailed = Code(description: "start_failed")
    /// Its time was up; it was killed.
    public static let timedOut = Code(description: "timed_out")
    /// Whoever reads its output wanted no more; it was killed.
    public static let outputRefused = Code(description: "output_refused")
    /// Nobody waits any more; it was killed.
    public static let cancelled = Code(description: "cancelled")
  }

  /// The kind.
  public let code: Code
  /// The program, and what happened.
  public let message: String

  /// An error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}

/// Why nothing can be told of a recording. Nothing of its content is in it.
public struct AudioError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and metrics.
    public let description: String
    /// Whether it is the file's own fault: the same file will fail again.
    let isPermanent: Bool

    private init(_ description: String, isPermanent: Bool) {
      self.description = description
      self.isPermanent = isPermanent
    }

    /// The file cannot be read: it is cut off, broken, or none of its kind.
    public static let unreadable = Code("unreadable", isPermanent: true)
    /// There is a film in it.
    public static let hasVideo = Code("has_video", isPermanent: true)
    /// It has more bytes than allowed.
    public static let tooLarge = Code("too_large", isPermanent: true)
    /// It lasts longer than allowed.
    public static let tooLong = Code("too_long", isPermanent: true)
    /// It has no bytes.
    public static let empty = Code("empty", isPermanent: true)
    /// To read it took more CPU time or output than anything of its size should.
    public static let tooExpensive = Code("too_expensive", isPermanent: true)
    /// To read it took too long by the clock, which may be the machine's fault.
    public static let timedOut = Code("timed_out", isPermanent: false)
    /// The program that reads it is not installed.
    public static let toolMissing = Code("tool_missing", isPermanent: false)
    /// The system could not start the program, it crashed or was killed, or it cannot read a good recording either.
    public static let toolFailed = Code("tool_failed", isPermanent: false)
    /// Nobody waits any more.
    public static let cancelled = Code("cancelled", isPermanent: false)
  }

  /// The kind.
  public let code: Code
  /// What happened, for the log.
  public let detail: String

  /// An error.
  public init(_ code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }

  /// Whether the same file will fail again.
  public var isPermanent: Bool { code.isPermanent }

  /// The kind and the detail.
  public var description: String { detail.isEmpty ? "\(code)" : "\(code): \(detail)" }
}

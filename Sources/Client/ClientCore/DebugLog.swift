/// Where the client library writes what it does, for whoever debugs an app.
///
/// Nothing is written unless the app says where to. No line ever holds a token.
public struct DebugLog: Sendable {
  /// One thing that was done.
  public struct Line: Sendable, Hashable {
    /// Whose line it is, for logs that sort by it: ``DebugLog/subsystem``.
    public let subsystem: String
    /// The part of the library: `TokenBroker`, `Session`, `SpeechToText`, `Gemini`.
    public let category: String
    /// What was done.
    public let message: String
  }

  /// The subsystem that lines carry unless the app says otherwise.
  public static let subsystem = "com.noisemeld.rapture"

  private let subsystem: String
  private let write: (@Sendable (Line) -> Void)?

  /// A log that takes nothing.
  public static let none = DebugLog(subsystem: subsystem, write: nil)

  /// A log whose lines go to `write`, from any task.
  public init(subsystem: String = Self.subsystem, to write: @escaping @Sendable (Line) -> Void) {
    self.init(subsystem: subsystem, write: write)
  }

  private init(subsystem: String, write: (@Sendable (Line) -> Void)?) {
    self.subsystem = subsystem
    self.write = write
  }

  /// Writes a line, which is put together only if somebody reads it.
  func callAsFunction(_ category: String, _ message: @autoclosure () -> String) {
    write?(Line(subsystem: subsystem, category: category, message: message()))
  }
}

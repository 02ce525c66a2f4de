public import Logging
internal import Synchronization

/// A log that a test can read: everything that is logged, at each level and with each field.
public final class CapturedLog: Sendable {
  private let lines = Mutex<[String]>([])

  /// How many lines there are, for tests that wait for one.
  public let count = Tally("lines")

  /// An empty log.
  public init() {}

  /// Each line: level, message, fields by their names as `name=value`, and the error if there is one, with blanks between them.
  public var all: [String] { lines.withLock { $0 } }

  /// What writes to it.
  public var logger: Logger {
    var logger = Logger(label: "test") { _ in Handler(log: self) }
    logger.logLevel = .trace
    return logger
  }

  /// The lines with a text in them.
  public func containing(_ text: String) -> [String] { all.filter { $0.contains(text) } }

  /// Waits for a line with a text in it.
  ///
  /// - Throws: ``TimedOut``.
  public func wait(for text: String) async throws {
    try await count.wait { [self] _ in !containing(text).isEmpty }
  }

  private struct Handler: LogHandler {
    let log: CapturedLog
    var metadata = Logger.Metadata()
    var logLevel = Logger.Level.trace

    init(log: CapturedLog) { self.log = log }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let error = event.error.map { ["error=\($0)"] } ?? []
      log.lines.withLock { $0.append(([event.level.rawValue, "\(event.message)"] + fields + error).joined(separator: " ")) }
      log.count.add()
    }
  }
}

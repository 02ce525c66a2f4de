import Logging
import Synchronization
import TestSupport

/// The log as a test reads it: each line's message with its fields.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])
  let count = Tally("lines")

  var all: [String] { lines.withLock { $0 } }

  var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

  func containing(_ text: String) -> [String] { all.filter { $0.contains(text) } }

  /// Waits for a line with a text in it.
  func wait(for text: String) async throws {
    try await count.wait { [self] _ in !containing(text).isEmpty }
  }

  private struct Handler: LogHandler {
    let lines: LogLines
    var logLevel = Logger.Level.trace
    var metadata = Logger.Metadata()
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    init(lines: LogLines) { self.lines = lines }

    func log(event: LogEvent) {
      let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      lines.lines.withLock { $0.append(([event.level.rawValue, "\(event.message)"] + fields).joined(separator: " ")) }
      lines.count.add()
    }
  }
}

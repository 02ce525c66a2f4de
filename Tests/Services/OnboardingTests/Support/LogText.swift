import Logging
import Synchronization

/// Everything that a service logs, at each level and with each field.
final class LogText: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }

  var logger: Logger { Logger(label: "test") { _ in Handler(text: self) } }

  private struct Handler: LogHandler {
    let text: LogText
    var logLevel = Logger.Level.trace
    var metadata = Logger.Metadata()
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    init(text: LogText) { self.text = text }

    func log(event: LogEvent) {
      let fields = metadata.merging(event.metadata ?? [:]) { $1 }.map { "\($0.key)=\($0.value)" }
      text.lines.withLock { $0.append((["\(event.level): \(event.message)"] + fields).joined(separator: " ")) }
    }
  }
}

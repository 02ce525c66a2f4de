import EventLoop
import Logging
import Synchronization

/// Loops for the length of a test.
func withLoops<Value: Sendable>(
  _ count: Int = 2, _ body: @escaping @Sendable (EventLoopGroup) async throws -> Value
) async throws -> Value {
  let group = try EventLoopGroup(count: count, name: "test")
  let result: Result<Value, any Error>
  do { result = .success(try await body(group)) } catch { result = .failure(error) }
  // Joining threads blocks, and the tests' own threads are few.
  let pool = BlockingPool(maximumThreads: 1)
  defer { pool.shutDown() }
  try await pool.run { group.shutDown() }
  return try result.get()
}

/// A log that a test can read.
final class CapturedLog: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }

  var logger: Logger {
    var logger = Logger(label: "test") { _ in Handler(log: self) }
    logger.logLevel = .trace
    return logger
  }

  private struct Handler: LogHandler {
    let log: CapturedLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(log: CapturedLog) { self.log = log }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let error = event.error.map { " error=\($0)" } ?? ""
      log.lines.withLock { $0.append("\(event.level) \(event.message) \(fields.joined(separator: " "))\(error)") }
    }
  }
}

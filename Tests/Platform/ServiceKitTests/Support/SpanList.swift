import Synchronization
import Telemetry

/// Keeps the spans that have ended.
final class SpanList: SpanSink {
  private let spans = Mutex<[SpanRecord]>([])

  var all: [SpanRecord] { spans.withLock { $0 } }

  func take(_ span: SpanRecord) { spans.withLock { $0.append(span) } }
}

import ParleyAPI
import WellKnown

/// What of the audit was shown already, for whoever follows it.
struct AuditTail {
  /// How long to wait before looking again.
  static let pause = Duration.seconds(2)
  /// How much later than its time an entry may appear: a transaction that writes it takes its time, and clocks differ.
  private static let lateness: Int64 = 15

  private var shown: [String: Int64] = [:]
  private var latest: Int64?

  /// Begins after what was shown.
  init(_ entries: [AuditEntry]) { _ = news(in: entries) }

  /// From when on to ask; nil: nothing was there yet.
  var since: GoogleProtobuf.Timestamp? { latest.map { .init(seconds: $0 - Self.lateness) } }

  /// Those that were not shown before, the oldest first.
  mutating func news(in entries: [AuditEntry]) -> [AuditEntry] {
    let news = entries.filter { shown[$0.id] == nil }.sorted { $0.id < $1.id }
    for entry in news {
      let seconds = entry.at?.seconds ?? 0
      shown[entry.id] = seconds
      latest = max(latest ?? seconds, seconds)
    }
    // What is not asked for again need not be known.
    if let latest { shown = shown.filter { $0.value >= latest - Self.lateness } }
    return news
  }
}

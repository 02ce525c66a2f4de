import ArgumentParser
import Foundation
import WellKnown

/// A point in time as people write it: `2026-01-31`, `2026-01-31T12:00:00Z`, or how long ago: `90m`, `12h`, `7d`.
struct TimeArgument: ExpressibleByArgument, Sendable {
  /// Seconds since 1970.
  let seconds: Int64

  init?(argument: String) { self.init(argument, now: Date()) }

  /// Reads a text; nil when it is no time.
  init?(_ text: String, now: Date) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    if let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), (0...10_000_000).contains(count) {
      seconds = Int64(now.timeIntervalSince1970) - count * unit
      return
    }
    let whole = text.contains("T") ? text : text + "T00:00:00Z"
    guard let date = try? Date.ISO8601FormatStyle().parse(whole) else { return nil }
    seconds = Int64(date.timeIntervalSince1970)
  }

  var timestamp: GoogleProtobuf.Timestamp { .init(seconds: seconds) }
}

internal import EventLoop

/// When a name may be looked up: one query at a time, not before the last good answer has reached a certain age, and after
/// failures only with growing pauses.
struct ResolutionSchedule {
  enum Verdict: Sendable, Hashable {
    /// Look it up now.
    case query
    /// A query runs already, or one has begun since the wish arose: its answer serves.
    case served
    /// Ask again at that moment.
    case wait(until: MonotonicInstant)
  }

  private let minimumInterval: Duration
  private let backoff: ConnectionBackoff
  private var isQuerying = false
  private var lastStart: MonotonicInstant?
  private var notBefore = MonotonicInstant(nanoseconds: 0)
  private var failures = 0

  init(minimumInterval: Duration, backoff: ConnectionBackoff) {
    self.minimumInterval = minimumInterval
    self.backoff = backoff
  }

  /// Judges the wish, which arose at `wish`, for a new answer.
  mutating func wanted(since wish: MonotonicInstant, now: MonotonicInstant) -> Verdict {
    if isQuerying { return .served }
    if let lastStart, lastStart > wish { return .served }
    guard now >= notBefore else { return .wait(until: notBefore) }
    isQuerying = true
    lastStart = now
    return .query
  }

  mutating func succeeded(now: MonotonicInstant) {
    isQuerying = false
    failures = 0
    notBefore = now.advanced(by: minimumInterval)
  }

  mutating func failed(now: MonotonicInstant) {
    isQuerying = false
    failures += 1
    notBefore = now.advanced(by: backoff.delay(after: failures))
  }
}

internal import AuthDomain
internal import AuthStore
internal import Limits
internal import Logging
internal import PostgreSQL
internal import Values

/// Removes the buckets of limits that nobody has asked for long, and the counts of days that are over.
///
/// At once when the service starts, since one that is often restarted would never come to it otherwise, and twice in the time after
/// which a bucket is forgotten.
struct LimitSweepJob: Sendable {
  let buckets: RateLimitSweep
  let counts: CapabilityUseSweep
  /// After how long a bucket is forgotten.
  let idle: Duration
  let now: @Sendable () -> Instant
  let sleep: @Sendable (Duration) async throws -> Void
  let log: Logger

  /// Sweeps until it is cancelled; what fails is tried again next time.
  func run() async throws {
    while true {
      do throws(DatabaseError) { try await sweep() } catch {
        log.warning("idle limits not removed", metadata: ["cause": "\(error)"])
      }
      try await sleep(idle / 2)
    }
  }

  private func sweep() async throws(DatabaseError) {
    let removed = try await buckets.remove(idleFor: idle, at: now())
    // A day's grace, for copies whose clocks are behind.
    let old = try await counts.remove(before: now().advanced(by: .seconds(-86_400)))
    log.debug("idle limits removed", metadata: ["count": "\(removed)", "counts_of_past_days": "\(old)"])
  }
}

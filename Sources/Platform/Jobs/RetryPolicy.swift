/// How often a job is tried and how long it waits in between. Pure.
public struct RetryPolicy: Sendable, Hashable {
  /// How often it is tried in all, at least once.
  public var attempts: Int
  /// The longest pause after the first failure; it doubles with each.
  public var firstPause: Duration
  /// The longest pause there is.
  public var longestPause: Duration
  /// The longest `Retry-After` that is believed.
  public var longestRetryAfter: Duration

  /// A policy from its parts; the defaults are twelve attempts within about an hour.
  public init(
    attempts: Int = 12, firstPause: Duration = .seconds(2), longestPause: Duration = .seconds(600),
    longestRetryAfter: Duration = .seconds(86_400)
  ) {
    self.attempts = max(1, attempts)
    self.firstPause = max(.zero, firstPause)
    self.longestPause = max(self.firstPause, longestPause)
    self.longestRetryAfter = longestRetryAfter
  }

  /// How many runs of a job may end without spending an attempt before a failure of what it stands on spends one: with the pauses of
  /// ``outage`` about four hours. A job that brings its database down, or asks too much of it, comes to an end by that.
  public static let mostUnspent: Int64 = 1_000
  /// The pauses while what every job stands on is away. They are the same for all kinds: it is back for all of them at once.
  static let outage = RetryPolicy(attempts: .max, firstPause: .seconds(1), longestPause: .seconds(30))

  /// Never tried again.
  public static let never = RetryPolicy(attempts: 1)

  /// The longest pause after a number of failed attempts.
  public func ceiling(after attempt: Int) -> Duration {
    var pause = firstPause
    for _ in 1..<max(1, min(attempt, 64)) {
      if pause >= longestPause { break }
      pause = pause * 2
    }
    return min(pause, longestPause)
  }

  /// The pause after a failed attempt, with full jitter: anything from nothing to the ceiling is as likely, so that jobs that
  /// failed together do not come back together.
  ///
  /// - Parameters:
  ///   - attempt: Which attempt failed, from 1.
  ///   - retryAfter: What the failure said; the pause is never shorter, up to ``longestRetryAfter``.
  ///   - chance: A number from 0 to below 1.
  public func pause(after attempt: Int, retryAfter: Duration? = nil, chance: Double) -> Duration {
    let chance = min(max(chance, 0), 1)
    guard let retryAfter else { return ceiling(after: attempt) * chance }
    // Spread behind the named moment, not around it.
    return min(max(retryAfter, .zero), longestRetryAfter) + firstPause * chance
  }
}

/// The arithmetic of a token bucket.
///
/// The database does the same sums in one statement, so that all copies of the service share a bucket; this is the model that
/// statement is tested against, and what says when a refused caller may come back.
public struct TokenBucket: Sendable, Hashable {
  /// Sums of fractions fall short of whole numbers by less than this.
  public static let rounding = 1e-6

  /// What is in the bucket at ``refilledAt``.
  public private(set) var tokens: Double
  /// When ``tokens`` was true.
  public private(set) var refilledAt: Moment

  /// A bucket as it was found.
  public init(tokens: Double, refilledAt: Moment) {
    self.tokens = tokens
    self.refilledAt = refilledAt
  }

  /// A new bucket: full.
  public init(full limit: RateLimit, at now: Moment) { self.init(tokens: Double(limit.burst), refilledAt: now) }

  /// Refills the bucket up to `now` and takes as many of `count` tokens as there are.
  ///
  /// A clock that goes back adds nothing and takes nothing away.
  ///
  /// - Returns: How many were taken.
  public mutating func take(_ count: Int, of limit: RateLimit, at now: Moment) -> Int {
    let elapsed = max(0, Double(now.microseconds - refilledAt.microseconds) / 1_000_000)
    let level = min(Double(limit.burst), tokens + elapsed * limit.perSecond)
    let taken = min(count, Int((level + Self.rounding).rounded(.down)))
    tokens = max(0, level - Double(taken))
    refilledAt = max(refilledAt, now)
    return taken
  }

  /// When one token will be there.
  public func refill(of limit: RateLimit) -> Moment {
    let missing = 1 - Self.rounding - tokens
    guard missing > 0 else { return refilledAt }
    return Moment(microseconds: refilledAt.microseconds + Int64((missing / limit.perSecond * 1_000_000).rounded(.up)))
  }
}

public import Values

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
  public private(set) var refilledAt: Instant

  /// A bucket as it was found.
  public init(tokens: Double, refilledAt: Instant) {
    self.tokens = tokens
    self.refilledAt = refilledAt
  }

  /// A new bucket: full.
  public init(full rate: BucketRate, at now: Instant) { self.init(tokens: Double(rate.burst), refilledAt: now) }

  /// How many whole tokens there are.
  public var wholeTokens: Int { Int((tokens + Self.rounding).rounded(.down)) }

  /// Refills the bucket up to `now` and takes as many of `count` tokens as there are.
  ///
  /// A clock that goes back adds nothing and takes nothing away.
  ///
  /// - Returns: How many were taken.
  public mutating func take(_ count: Int, of rate: BucketRate, at now: Instant) -> Int {
    let elapsed = max(0, Double(now.microseconds - refilledAt.microseconds) / 1_000_000)
    let level = min(Double(rate.burst), tokens + elapsed * rate.perSecond)
    let taken = min(count, Int((level + Self.rounding).rounded(.down)))
    tokens = max(0, level - Double(taken))
    refilledAt = max(refilledAt, now)
    return taken
  }

  /// When one token will be there.
  public func refill(of rate: BucketRate) -> Instant { moment(of: 1, rate) }

  /// When it will be full.
  public func full(of rate: BucketRate) -> Instant { moment(of: Double(rate.burst), rate) }

  private func moment(of level: Double, _ rate: BucketRate) -> Instant {
    let missing = level - Self.rounding - tokens
    guard missing > 0 else { return refilledAt }
    return Instant(microseconds: refilledAt.microseconds + Int64((missing / rate.perSecond * 1_000_000).rounded(.up)))
  }
}

public import Values

/// What became of a request for a token, and how the bucket stands.
public struct BucketAnswer: Sendable, Hashable {
  /// When a token will be there; nil when one was taken. A refused request consumes nothing.
  public let refusedUntil: Instant?
  /// How many whole tokens are left.
  public let remaining: Int
  /// When the bucket will be full if nobody takes anything.
  public let fullAt: Instant

  /// Whether there is a bucket: of somebody whose account is gone there is none.
  let isCounted: Bool

  /// Whether a token was taken.
  public var isAllowed: Bool { refusedUntil == nil }

  /// An answer.
  public init(refusedUntil: Instant?, remaining: Int, fullAt: Instant) {
    self.init(refusedUntil: refusedUntil, remaining: remaining, fullAt: fullAt, isCounted: true)
  }

  private init(refusedUntil: Instant?, remaining: Int, fullAt: Instant, isCounted: Bool) {
    self.refusedUntil = refusedUntil
    self.remaining = remaining
    self.fullAt = fullAt
    self.isCounted = isCounted
  }

  /// Nobody's: there is no bucket to take from.
  static func uncounted(at now: Instant) -> BucketAnswer {
    BucketAnswer(refusedUntil: nil, remaining: 0, fullAt: now, isCounted: false)
  }

  /// A refusal that is remembered: there is one token at `until`, and the others come after it.
  init(refusedUntil until: Instant, _ rate: BucketRate) {
    let others = Double(rate.burst - 1) / rate.perSecond
    self.init(refusedUntil: until, remaining: 0, fullAt: until.advanced(by: .seconds(others)))
  }
}

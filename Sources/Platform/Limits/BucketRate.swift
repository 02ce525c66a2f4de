/// How often something may happen: so many times at once, and then so many times a minute.
public struct BucketRate: Sendable, Hashable {
  /// Tokens that come back in a minute.
  public let perMinute: Int
  /// The most tokens that a bucket holds; a new bucket is full.
  public let burst: Int

  /// A rate; both numbers are at least 1.
  public init(perMinute: Int, burst: Int) {
    self.perMinute = max(1, perMinute)
    self.burst = max(1, burst)
  }

  /// Tokens that come back in a second.
  public var perSecond: Double { Double(perMinute) / 60 }
}

public import Limits
public import Values

/// Where calls are counted, for all copies of a service; whoever can count implements it.
public protocol RateLimiter: Sendable {
  /// Takes one token from the bucket of `key`, if there is one; a refused take consumes nothing.
  ///
  /// - Parameters:
  ///   - key: Whose bucket it is: the limit's name and the caller, the address, the session or the device.
  ///   - rate: How it fills.
  ///   - now: The time.
  /// - Throws: Anything when nobody can say.
  func take(_ key: String, _ rate: BucketRate, at now: Instant) async throws -> BucketAnswer

  /// The same for a limit that fails open: who counts may do so without asking others, as far as it knows enough by itself.
  func takeFromMemory(_ key: String, _ rate: BucketRate, at now: Instant) async throws -> BucketAnswer
}

extension RateLimiter {
  /// Asks all the same.
  public func takeFromMemory(_ key: String, _ rate: BucketRate, at now: Instant) async throws -> BucketAnswer {
    try await take(key, rate, at: now)
  }
}

extension RateLimitStore: RateLimiter {}

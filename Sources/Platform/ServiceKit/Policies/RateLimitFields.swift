public import RPC

/// How a caller stands with a limit, as draft-ietf-httpapi-ratelimit-headers tells it.
public struct RateLimitFields: Sendable, Hashable {
  /// The names of the fields.
  public static let names = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]

  /// The most calls at once: the size of the bucket.
  public let limit: Int
  /// How many are left.
  public let remaining: Int
  /// Whole seconds until all of them are.
  public let reset: Int64

  /// What is told.
  public init(limit: Int, remaining: Int, reset: Int64) { (self.limit, self.remaining, self.reset) = (limit, remaining, reset) }

  /// A refusal: nothing is left, one call will be in `retryAfter` seconds, and the others after it.
  public init(refusedFor retryAfter: Int64, perMinute: Int, burst: Int) {
    let others = (Double(burst - 1) * 60 / Double(max(1, perMinute))).rounded(.up)
    self.init(limit: burst, remaining: 0, reset: retryAfter + Int64(others))
  }

  /// As headers or trailers.
  public var metadata: Metadata {
    ["ratelimit-limit": "\(limit)", "ratelimit-remaining": "\(remaining)", "ratelimit-reset": "\(reset)"]
  }
}

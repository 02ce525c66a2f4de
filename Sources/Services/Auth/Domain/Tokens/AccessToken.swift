public import Values

/// A cloud token with the time it has left.
public struct AccessToken: Sendable, Hashable {
  /// What a client is told when nobody said how long the token lives, in seconds.
  public static let assumedLifetime: Int64 = 3600

  /// The token: a secret, opaque.
  public let value: String
  /// When it runs out; nil when its issuer did not say.
  public let expiresAt: Instant?

  /// A token.
  public init(value: String, expiresAt: Instant?) {
    self.value = value
    self.expiresAt = expiresAt
  }

  /// How to present it.
  public var type: String { "Bearer" }

  /// The whole seconds that are left, rounded down; 0 once it has run out, 3600 when that is not known.
  public func secondsLeft(at now: Instant) -> Int64 {
    guard let expiresAt else { return Self.assumedLifetime }
    return max(0, expiresAt.duration(since: now).components.seconds)
  }
}

/// Never shows the token.
extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A word that is no secret.
  public var description: String { "AccessToken(hidden)" }
  /// A word that is no secret.
  public var debugDescription: String { description }
  /// Shows nothing.
  public var customMirror: Mirror { Mirror(self, children: ["value": "hidden"]) }
}

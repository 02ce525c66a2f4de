internal import JOSE

/// Why nobody is let in by an ID token.
public struct IDTokenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// The token was judged and is not valid.
    public static let rejected = Code(description: "rejected")
    /// There are no keys to judge it with.
    public static let keysUnavailable = Code(description: "keys_unavailable")
    /// Nobody waits any more.
    public static let cancelled = Code(description: "cancelled")
  }

  /// The kind of failure.
  public let code: Code
  /// The distinct reason, one word for the log: `expired`, `audience_mismatch`. Nothing of the token.
  public let reason: String

  /// A failure.
  public init(_ code: Code, reason: String) {
    self.code = code
    self.reason = reason
  }

  init(_ error: TokenError) { self.init(.rejected, reason: error.description) }

  /// Kind and reason.
  public var description: String { "\(code): \(reason)" }
}

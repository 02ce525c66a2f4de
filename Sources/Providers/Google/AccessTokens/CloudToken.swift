public import EventLoop

/// An access token of the cloud.
public struct CloudToken: Sendable, Hashable {
  /// The token: a secret, opaque.
  public let value: String
  /// When it runs out; nil when the answer did not say.
  public let expiresAt: MonotonicInstant?

  /// A token.
  public init(value: String, expiresAt: MonotonicInstant?) {
    self.value = value
    self.expiresAt = expiresAt
  }

  /// The time that is left, negative once it has run out; nil when that is not known.
  public func timeLeft(at now: MonotonicInstant) -> Duration? { expiresAt?.duration(since: now) }
}

/// Never shows the token.
extension CloudToken: CustomStringConvertible, CustomReflectable {
  /// A word that is no secret.
  public var description: String { "CloudToken(hidden)" }
  /// Shows nothing.
  public var customMirror: Mirror { Mirror(self, children: ["value": "hidden"]) }
}

/// Why there is no token.
public struct MintError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// The token endpoint could not be reached, or not in time.
    public static let unreachable = Code(description: "unreachable")
    /// It answered with a status other than 2xx.
    public static let refused = Code(description: "refused")
    /// Its answer is no token.
    public static let malformed = Code(description: "malformed_answer")
    /// The assertion could not be signed.
    public static let notSigned = Code(description: "not_signed")
    /// Nobody waits any more.
    public static let cancelled = Code(description: "cancelled")
  }

  /// The kind of failure.
  public let code: Code
  /// More about it, safe to log: a status, an OAuth error code, a kind of network failure.
  public let detail: String

  /// A failure.
  public init(_ code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }

  /// Kind and detail.
  public var description: String { detail.isEmpty ? code.description : "\(code): \(detail)" }
}

/// Where tokens come from.
public protocol CloudTokenSource: Sendable {
  /// A new token for these scopes, which are separated by blanks.
  ///
  /// - Throws: ``MintError``.
  func mint(scope: String) async throws(MintError) -> CloudToken

  /// Whether it has a token for these scopes, so that ``mint(scope:)`` asks nobody.
  func isAtHand(scope: String) -> Bool
}

extension CloudTokenSource {
  /// No: it mints.
  public func isAtHand(scope: String) -> Bool { false }
}

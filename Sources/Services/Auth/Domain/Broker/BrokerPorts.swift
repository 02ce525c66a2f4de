/// Judges ID tokens.
public protocol IDTokenVerifying: Sendable {
  /// Who the bearer of the token is.
  ///
  /// - Throws: ``PortFailure``: `rejected` when the token was judged and is not valid, `unavailable` when it could not be judged.
  func verify(_ token: String) async throws(PortFailure) -> CallerIdentity
}

/// Gets tokens from the cloud.
public protocol AccessTokenMinting: Sendable {
  /// A token for a capability, new or with enough time left.
  ///
  /// - Throws: ``PortFailure``.
  func mint(_ capability: Capability) async throws(PortFailure) -> AccessToken
}

/// Counts.
public protocol RateLimiting: Sendable {
  /// Takes one token from the bucket of `key`, if there is one.
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when nobody can say whether there is one: then nothing is allowed.
  func take(_ key: LimitKey, _ limit: RateLimit, at now: Moment) async throws(PortFailure) -> LimitDecision
}

/// Writes down what was handed out.
public protocol IssuanceAuditing: Sendable {
  /// Returns once the record is durable.
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when it is not, or when nobody can say.
  func record(_ record: IssuanceRecord) async throws(PortFailure)
}

/// Makes a subject unrecognizable for whoever does not know the salt.
public protocol SubjectHashing: Sendable {
  /// The salted hash of a subject, the same in every copy of the service.
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when the salt cannot be had.
  func hash(_ subject: String) async throws(PortFailure) -> SubjectHash
}

/// What a port of the broker throws.
public struct PortFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Kind: Sendable, Hashable {
    /// It was judged and is refused.
    case rejected
    /// It could not be judged or done.
    case unavailable
    /// Nobody waits any more.
    case cancelled
  }

  /// The kind.
  public let kind: Kind
  /// The distinct reason, a word for the log.
  public let reason: String

  /// A failure.
  public init(_ kind: Kind, reason: String) {
    self.kind = kind
    self.reason = reason
  }

  /// Nobody waits any more.
  public static let cancelled = PortFailure(.cancelled, reason: "cancelled")

  /// The reason.
  public var description: String { reason }
}

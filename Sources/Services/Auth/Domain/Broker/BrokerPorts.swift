public import Values

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
  /// Whether a token for a capability is there already, so that nobody has to be asked for it.
  func isAtHand(_ capability: Capability) -> Bool
}

/// Counts.
public protocol RateLimiting: Sendable {
  /// Takes one token from the bucket of `key`, if there is one.
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when nobody can say whether there is one: then nothing is allowed.
  func take(_ key: LimitKey, _ limit: RateLimit, at now: Instant) async throws(PortFailure) -> LimitDecision
  /// The refusal that is known without asking; nil when there is none.
  func refusal(of key: LimitKey, _ limit: RateLimit, at now: Instant) -> LimitDecision?
}

/// What a person may do, where it is yet to be counted.
public struct PersonLimit: Sendable, Hashable {
  /// The person's bucket.
  public let key: LimitKey
  /// How it fills.
  public let limit: RateLimit

  /// A limit.
  public init(key: LimitKey, limit: RateLimit) {
    self.key = key
    self.limit = limit
  }
}

/// Writes down what is handed out, and decides it: whether a capability or a person is stopped, whether the account is suspended where
/// there is one, and whether a person has had enough is judged by whoever keeps the record, in one step with writing it.
public protocol IssuanceAuditing: Sendable {
  /// Puts on record that a token is handed out, unless it must not be; that is put on record then. Durable when it returns.
  ///
  /// - Parameters:
  ///   - record: What is to be handed out.
  ///   - perDay: How many tokens of its capability the person may have on a day (UTC); nil for any number.
  ///   - holder: Whose account is looked for.
  ///   - limit: The person's limit of calls, where a token of it is taken in the same step; when it is refused, nothing is put on record.
  /// - Throws: ``PortFailure`` with `unavailable` when nobody can say: then nothing is handed out.
  func issue(
    _ record: IssuanceRecord, perDay: Int?, to holder: TokenHolder, within limit: PersonLimit?
  ) async throws(PortFailure) -> IssuanceDecision
  /// Whether it is known here already that the person has had enough for the day.
  func isCapped(_ subject: SubjectHash, _ capability: String, at now: Instant) -> Bool
  /// Returns once the record is durable.
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when it is not, or when nobody can say.
  func record(_ record: IssuanceRecord) async throws(PortFailure)
}

/// Knows what an operator has stopped, as of a moment ago.
///
/// It spares the cloud a request. What decides is ``IssuanceAuditing/issue(_:perDay:to:within:)``.
public protocol StopWatching: Sendable {
  /// Whether tokens of the capability are not handed out to anybody.
  func isStopped(_ capability: String) -> Bool
  /// Whether tokens of the capability are not handed out to this person.
  func isStopped(_ subject: SubjectHash, _ capability: String) -> Bool
}

/// Makes a subject unrecognizable for whoever does not know the salt.
public protocol SubjectHashing: Sendable {
  /// The salted hash of a subject, the same in every copy of the service.
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when the salt cannot be had.
  func hash(_ subject: String) async throws(PortFailure) -> SubjectHash
  /// The salt, where an operator has given it; nil where only the database has it.
  var givenSalt: [UInt8]? { get }
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

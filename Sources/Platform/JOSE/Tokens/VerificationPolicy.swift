/// What a token must be to be accepted at one place: which algorithms, whose, for whom, and when.
///
/// The place chooses the policy, never the token. An empty list of algorithms, issuers or audiences accepts nothing.
public struct VerificationPolicy: Sendable, Hashable {
  /// What to do about `sub`.
  public enum SubjectRule: Sendable, Hashable {
    /// It must be there and not be empty.
    case required
    /// The caller looks at ``VerifiedToken/subject`` itself, which may then be nil or empty.
    case leftToCaller
  }

  /// No leeway is longer than this.
  public static let maximumLeeway = Duration.seconds(300)

  /// The algorithms a header may name.
  public var allowedAlgorithms: Set<SignatureAlgorithm>
  /// The accepted values of `iss`, compared byte by byte.
  public var issuers: [String]
  /// The accepted values of `aud`, compared byte by byte; one match is enough.
  public var audiences: [String]
  /// Whether `azp`, where present, must be one of ``audiences`` too.
  public var requiresAuthorizedPartyInAudiences: Bool
  /// How long after `exp` a token is still accepted, in whole seconds.
  public private(set) var expiryLeeway: Duration
  /// How far in the future `iat` may lie, in whole seconds.
  public private(set) var issuedAtLeeway: Duration
  /// How far in the future `nbf` may lie, in whole seconds.
  public private(set) var notBeforeLeeway: Duration
  /// How long ago `iat` may lie, without leeway; nil for no limit.
  public var maximumAge: Duration?
  /// What to do about `sub`.
  public var subjectRule: SubjectRule

  /// A policy. Leeways are held to 0 ... ``maximumLeeway`` and to whole seconds.
  public init(
    allowedAlgorithms: Set<SignatureAlgorithm>, issuers: [String], audiences: [String],
    requiresAuthorizedPartyInAudiences: Bool = true, expiryLeeway: Duration = .seconds(60),
    issuedAtLeeway: Duration = .seconds(60), notBeforeLeeway: Duration = .seconds(60), maximumAge: Duration? = nil,
    subjectRule: SubjectRule = .required
  ) {
    self.allowedAlgorithms = allowedAlgorithms
    self.issuers = issuers
    self.audiences = audiences
    self.requiresAuthorizedPartyInAudiences = requiresAuthorizedPartyInAudiences
    self.expiryLeeway = Self.bounded(expiryLeeway)
    self.issuedAtLeeway = Self.bounded(issuedAtLeeway)
    self.notBeforeLeeway = Self.bounded(notBeforeLeeway)
    self.maximumAge = maximumAge
    self.subjectRule = subjectRule
  }

  private static func bounded(_ leeway: Duration) -> Duration {
    .seconds(min(max(leeway, .zero), maximumLeeway).components.seconds)
  }
}

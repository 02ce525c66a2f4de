public import EventLoop
internal import JOSE
public import OpenID

/// Whose ID tokens are accepted, for whom, and how exactly time is taken.
public struct GoogleIDTokenPolicy: Sendable, Hashable {
  /// Google's own name.
  public static let googleIssuer = "https://accounts.google.com"

  /// The issuer with its scheme; tokens may name it without.
  public var issuer: String
  /// The client ids of our apps.
  public var audiences: [String]
  /// The leeway for `exp`, `iat` and `nbf`; at most 300 s.
  public var clockSkew: Duration
  /// How long ago a token may have been issued, without leeway; nil for no limit.
  public var maximumAge: Duration?
  /// Whether a token must name a subject: an account is known by it and by nothing else.
  public var requiresSubject: Bool
  /// How many verified tokens each loop remembers.
  public var rememberedTokensPerLoop: Int

  /// A policy.
  public init(
    issuer: String = Self.googleIssuer, audiences: [String], clockSkew: Duration = .seconds(60),
    maximumAge: Duration? = nil, requiresSubject: Bool = false, rememberedTokensPerLoop: Int = 8192
  ) {
    self.issuer = issuer
    self.audiences = audiences
    self.clockSkew = clockSkew
    self.maximumAge = maximumAge
    self.requiresSubject = requiresSubject
    self.rememberedTokensPerLoop = rememberedTokensPerLoop
  }

  var verification: VerificationPolicy {
    let prefix = "https://"
    let bare = issuer.hasPrefix(prefix) ? [String(issuer.dropFirst(prefix.count))] : []
    return VerificationPolicy(
      allowedAlgorithms: [.rs256], issuers: [issuer] + bare, audiences: audiences, expiryLeeway: clockSkew,
      issuedAtLeeway: clockSkew, notBeforeLeeway: clockSkew, maximumAge: maximumAge,
      subjectRule: requiresSubject ? .required : .leftToCaller)
  }
}

/// Verifies ID tokens of Google.
public final class GoogleIDTokenVerifier: Sendable {
  private let verifier: IDTokenVerifier<GoogleIDToken>

  /// A verifier for callers on these loops.
  public init(_ policy: GoogleIDTokenPolicy, keys: JWKSCache, loops: [EventLoop], clock: ProviderClock) {
    let (audiences, isStrict) = (policy.audiences, policy.requiresSubject)
    verifier = IDTokenVerifier(
      policy.verification, rememberedPerLoop: policy.rememberedTokensPerLoop, keys: keys, loops: loops, clock: clock
    ) { token throws(IDTokenError) in
      // OpenID Connect Core, section 2: at most 255 ASCII characters. An account is kept under it.
      if isStrict, (token.subject ?? "").utf8.count > 255 { throw IDTokenError(.rejected, reason: "subject_too_long") }
      return try GoogleIDToken(token, allowedAudiences: audiences)
    }
  }

  /// What the token says, if it is valid.
  ///
  /// - Throws: ``OpenID/IDTokenError``.
  public func verify(_ token: String) async throws(IDTokenError) -> GoogleIDToken { try await verifier.verify(token) }
}

public import EventLoop
internal import JOSE
public import OpenID

/// Whose identity tokens are accepted, for whom, and how exactly time is taken.
public struct AppleIdentityTokenPolicy: Sendable, Hashable {
  /// Apple's own name.
  public static let appleIssuer = "https://appleid.apple.com"

  /// The accepted issuers.
  public var issuers: [String]
  /// Bundle ids and services ids of our apps.
  public var audiences: [String]
  /// The leeway for `exp`, `iat` and `nbf`; at most 300 s.
  public var clockSkew: Duration
  /// How long ago a token may have been issued, without leeway; nil for no limit. Apple's own limit is a day, which is longer
  /// than a sign-in takes.
  public var maximumAge: Duration?
  /// How many verified tokens each loop remembers.
  public var rememberedTokensPerLoop: Int

  /// A policy.
  public init(
    issuers: [String] = [Self.appleIssuer], audiences: [String], clockSkew: Duration = .seconds(60),
    maximumAge: Duration? = .seconds(600), rememberedTokensPerLoop: Int = 256
  ) {
    self.issuers = issuers
    self.audiences = audiences
    self.clockSkew = clockSkew
    self.maximumAge = maximumAge
    self.rememberedTokensPerLoop = rememberedTokensPerLoop
  }

  var verification: VerificationPolicy {
    VerificationPolicy(
      allowedAlgorithms: [.rs256], issuers: issuers, audiences: audiences, expiryLeeway: clockSkew, issuedAtLeeway: clockSkew,
      notBeforeLeeway: clockSkew, maximumAge: maximumAge)
  }
}

/// Verifies identity tokens of Apple.
public final class AppleIdentityTokenVerifier: Sendable {
  private let verifier: IDTokenVerifier<AppleIdentityToken>

  /// A verifier for callers on these loops.
  public init(_ policy: AppleIdentityTokenPolicy, keys: JWKSCache, loops: [EventLoop], clock: ProviderClock) {
    let audiences = policy.audiences
    verifier = IDTokenVerifier(
      policy.verification, rememberedPerLoop: policy.rememberedTokensPerLoop, keys: keys, loops: loops, clock: clock
    ) { token throws(IDTokenError) in try AppleIdentityToken(token, allowedAudiences: audiences) }
  }

  /// What the token says, if it is valid. Its nonce is the caller's to judge.
  ///
  /// - Throws: ``OpenID/IDTokenError``.
  public func verify(_ token: String) async throws(IDTokenError) -> AppleIdentityToken { try await verifier.verify(token) }
}

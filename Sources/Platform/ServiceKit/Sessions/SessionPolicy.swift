internal import JOSE

extension StandardKeys {
  /// `iss`: the auth service signs what the others accept.
  public static let sessionIssuer = ConfigurationKey<String>(
    "sessionIssuer", default: "https://auth.parley.local", check: { $0.isEmpty ? "not empty" : nil },
    "The issuer of access tokens; the same in all services.")
  /// `aud`.
  public static let sessionAudience = ConfigurationKey<String>(
    "sessionAudience", default: "parley", check: { $0.isEmpty ? "not empty" : nil },
    "The audience of access tokens; the same in all services.")
}

/// Which access tokens are accepted.
public struct SessionPolicy: Sendable, Hashable {
  /// Who signs them: `iss`.
  public var issuer: String
  /// For whom: one of `aud`.
  public var audience: String
  /// The leeway for `exp` and `iat`: at most 300 s.
  public var leeway: Duration

  /// The policy of one issuer's tokens.
  public init(issuer: String, audience: String, leeway: Duration = .seconds(60)) {
    self.issuer = issuer
    self.audience = audience
    self.leeway = leeway
  }

  /// The header's `typ` (RFC 9068): no other kind of token of the same issuer passes for an access token.
  static let type = "at+jwt"

  var verification: VerificationPolicy {
    VerificationPolicy(
      allowedAlgorithms: [.es256], issuers: [issuer], audiences: [audience], expiryLeeway: leeway, issuedAtLeeway: leeway,
      notBeforeLeeway: leeway)
  }
}

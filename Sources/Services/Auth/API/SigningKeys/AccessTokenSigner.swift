package import AuthDomain
internal import JOSE
internal import JSON
package import Telemetry
internal import Values

/// Signs access tokens with the active key.
package struct AccessTokenSigner: AccessTokenSigning {
  private let keyring: SigningKeyring
  private let issuer: String
  private let audience: String
  private let signed: PrometheusCounter?

  /// Signs as `issuer` for `audience`.
  ///
  /// - Parameters:
  ///   - keyring: The keys.
  ///   - issuer: Who signs.
  ///   - audience: For whom.
  ///   - signed: What counts the tokens.
  package init(_ keyring: SigningKeyring, issuer: String, audience: String, countedBy signed: PrometheusCounter? = nil) {
    self.keyring = keyring
    self.issuer = issuer
    self.audience = audience
    self.signed = signed
  }

  package func mustBeReady() async throws(PortFailure) { _ = try await keyring.active() }

  /// The token: ES256, `typ: at+jwt` (RFC 9068).
  package func sign(_ claims: AccessTokenClaims) async throws(PortFailure) -> String {
    // A longer life than the plan knows of would outlive the key that checks it.
    guard claims.expiresAt.duration(since: claims.issuedAt) <= keyring.policy.tokenLifetime else {
      throw PortFailure(.rejected, reason: "token_lifetime_too_long")
    }
    let key = try await keyring.active()
    let payload: JSONObject = [
      "iss": .string(issuer), "aud": .string(audience), "sub": .string(claims.user.description),
      "sid": .string(claims.session.description), "app": .string(claims.app),
      "iat": .number(JSONNumber(claims.issuedAt.seconds)), "exp": .number(JSONNumber(claims.expiresAt.seconds)),
      "auth_time": .number(JSONNumber(claims.authenticatedAt.seconds)),
      "jti": .string(Base64URL.encode(SecureRandom.bytes(12))),
    ]
    signed?.increment()
    do { return try key.sign(header: ["typ": "at+jwt"], claims: payload) } catch {
      throw PortFailure(.unavailable, reason: "\(error)")
    }
  }
}

package import AuthDomain
internal import JOSE
internal import JSON

/// Signs access tokens with the active key.
package struct AccessTokenSigner: AccessTokenSigning {
  private let keyring: SigningKeyring
  private let issuer: String
  private let audience: String

  /// Signs as `issuer` for `audience`.
  package init(_ keyring: SigningKeyring, issuer: String, audience: String) {
    self.keyring = keyring
    self.issuer = issuer
    self.audience = audience
  }

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
    do { return try key.sign(header: ["typ": "at+jwt"], claims: payload) } catch {
      throw PortFailure(.unavailable, reason: "\(error)")
    }
  }
}

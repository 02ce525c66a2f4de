internal import AppleProvider
internal import AuthDomain
internal import EventLoop
internal import OpenID
internal import Values

/// Apple's identity tokens as identities of one app.
struct AppleSignIn: IdentityVerifying {
  let verifier: AppleIdentityTokenVerifier

  func verify(_ token: String) async throws(PortFailure) -> VerifiedIdentity {
    let verified: AppleIdentityToken
    do { verified = try await verifier.verify(token) } catch { throw PortFailure(error) }
    return VerifiedIdentity(
      provider: .apple, subject: verified.subject, audience: verified.audience, email: verified.email,
      emailIsVerified: verified.emailIsVerified ?? false, emailIsPrivate: verified.emailIsPrivate, nonce: verified.nonce,
      supportsNonce: verified.supportsNonce, issuedAt: Instant(seconds: verified.issuedAt),
      expiresAt: Instant(seconds: verified.expiry))
  }
}

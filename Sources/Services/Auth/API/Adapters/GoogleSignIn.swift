internal import AuthDomain
internal import EventLoop
internal import GoogleProvider
internal import OpenID
internal import Values

/// Google's ID tokens as identities of one app.
struct GoogleSignIn: IdentityVerifying {
  let verifier: GoogleIDTokenVerifier

  func verify(_ token: String) async throws(PortFailure) -> VerifiedIdentity {
    let verified: GoogleIDToken
    do { verified = try await verifier.verify(token) } catch { throw PortFailure(error) }
    return VerifiedIdentity(
      provider: .google, subject: verified.subject ?? "", audience: verified.audience, email: verified.email,
      emailIsVerified: verified.emailIsVerified ?? false, name: verified.givenName ?? verified.name, nonce: verified.nonce,
      issuedAt: Instant(seconds: verified.issuedAt), expiresAt: Instant(seconds: verified.expiry))
  }
}

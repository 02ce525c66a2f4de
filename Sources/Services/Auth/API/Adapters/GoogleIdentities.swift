internal import AuthDomain
internal import GoogleProvider
internal import OpenID

/// Google's ID tokens as the broker's identities.
struct GoogleIdentities: IDTokenVerifying {
  let verifier: GoogleIDTokenVerifier

  func verify(_ token: String) async throws(PortFailure) -> CallerIdentity {
    let verified: GoogleIDToken
    do { verified = try await verifier.verify(token) } catch { throw PortFailure(error) }
    return CallerIdentity(
      subject: verified.subject ?? "", email: verified.email, emailIsVerified: verified.emailIsVerified, name: verified.name,
      picture: verified.picture, hostedDomain: verified.hostedDomain, issuer: verified.issuer, audience: verified.audience,
      expiry: verified.expiry)
  }
}

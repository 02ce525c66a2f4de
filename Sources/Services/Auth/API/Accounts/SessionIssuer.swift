internal import AuthDomain
internal import ParleyAPI
internal import Values
internal import WellKnown

/// Makes what a signed-in device holds.
struct SessionIssuer: Sendable {
  let signer: any AccessTokenSigning

  /// The tokens of a session.
  func tokens(_ session: SessionRecord, refresh token: RefreshToken, at now: Instant) async throws(AccountRefusal)
    -> SessionTokens
  {
    let access = try await sign(session, at: now)
    return SessionTokens(
      accessToken: access, tokenType: "Bearer", expiresIn: .init(seconds: AccountRules.accessLifetime.components.seconds),
      refreshToken: token.text, refreshExpiresAt: .init(session.expiresAt), sessionID: session.id.description)
  }

  /// Throws where no access token could be signed now.
  func mustBeReady() async throws(AccountRefusal) {
    do { try await signer.mustBeReady() } catch { throw Self.refusal(error) }
  }

  /// An access token of a session.
  func sign(_ session: SessionRecord, at now: Instant) async throws(AccountRefusal) -> String {
    let claims = AccessTokenClaims(
      user: session.user, session: session.id, app: session.app, issuedAt: now,
      expiresAt: now.advanced(by: AccountRules.accessLifetime), authenticatedAt: session.authenticatedAt)
    do { return try await signer.sign(claims) } catch { throw Self.refusal(error) }
  }

  private static func refusal(_ error: PortFailure) -> AccountRefusal {
    AccountRefusal(error.kind == .cancelled ? .cancelled : .signingUnavailable, detail: error.reason)
  }
}

internal import AuthDomain
internal import AuthStore
internal import ParleyAPI
internal import ServiceKit
internal import Values
internal import WellKnown

/// The step-up: a person who has a session shows a provider's token once more.
struct ReauthenticationFlow: Sendable {
  let rule: StepUpRule
  let signIn: SignInFlow
  let store: SignInStore
  let issuer: SessionIssuer
  let now: @Sendable () -> Instant

  /// Judges the token as a sign-in does, and more strictly: it was made within the time that a step-up serves.
  ///
  /// - Returns: An access token of the session that says so.
  func reauthenticate(
    _ request: ReauthenticateRequest, _ caller: Caller, for client: AccountClient
  ) async throws -> ReauthenticateResponse {
    let proof = try await signIn.verified(
      SignInFlow.Request(
        app: caller.app, provider: .init(request.provider), token: request.idToken, tokenField: "id_token", nonce: request.nonce),
      for: client)
    let now = now()
    guard proof.identity.issuedAt.advanced(by: rule.maximumAge) >= now else {
      throw AccountRefusal(.invalidIDToken, detail: "older_than_a_step_up")
    }
    let stepUp = SignInStore.StepUp(
      nonce: proof.nonce, token: proof.token, tokenExpiresAt: proof.tokenExpiresAt, identity: proof.identity, user: caller.user,
      session: caller.session, app: caller.app)
    switch try await store.stepUp(stepUp, at: now, for: client.stored) {
    case .refused(let kind): throw AccountRefusal(kind)
    case .done(let session):
      let access = try await issuer.sign(session, at: now)
      return .init(
        accessToken: access, tokenType: "Bearer", expiresIn: .init(seconds: AccountRules.accessLifetime.components.seconds),
        stepUpUntil: .init(session.authenticatedAt.advanced(by: rule.maximumAge)))
    }
  }
}

internal import AuthDomain
internal import AuthStore
internal import ParleyAPI
internal import PostgreSQL
internal import Values

/// The exchange of a refresh token for the next tokens.
struct RefreshFlow: Sendable {
  let rules: AccountRules
  let apps: AppCatalogue
  let store: SessionStore
  let accounts: AccountStore
  let pepper: RefreshPeppers
  let limits: AccountLimits
  let issuer: SessionIssuer
  let journal: AccountJournal
  let now: @Sendable () -> Instant

  func refresh(_ text: String, attempt: String, for client: AccountClient) async throws -> SessionTokens {
    let now = now()
    let address = limits.gate(
      .refresh(from: client.addressKey), rules.refreshAddressLimit, at: now, otherwise: .addressLimited)
    let (tokens, token): (RefreshTokens, RefreshToken)
    do { (tokens, token) = try await shown(text, attempt) } catch {
      // Whoever calls too often learns that, and nothing of what was shown.
      try await address.pass()
      throw error
    }
    let owner = try await address.pass { take throws(DatabaseError) in try await store.owner(of: token.session, taking: take) }
    guard let owner else { throw AccountRefusal(.invalidRefreshToken, detail: "no_session") }
    // Only who has had a token of the session gets here, so nobody else can use this limit up.
    let limit = limits.gate(
      .refresh(of: token.session), apps[owner.app]?.limits.refresh ?? rules.refreshLimit, at: now, otherwise: .userLimited)
    let refreshed = try await store.refresh(
      SessionStore.Presentation(
        session: token.session, generation: token.generation, digest: RefreshTokens.digest(token),
        attempt: RefreshTokens.attempt(attempt)), of: owner.user, at: now, rules: rules.refresh, for: client.stored,
      taking: limit.take, successor: { RefreshTokens.digest(tokens.successor(of: token, attempt: attempt, generation: $0)) })
    if let answer = refreshed.limit { try limit.judge(answer) }
    switch refreshed.action {
    case .handOut(let generation), .repeatAnswer(let generation):
      guard let session = refreshed.session else { throw AccountRefusal(.invalidRefreshToken, detail: "no_session") }
      return try await issuer.tokens(
        session,
        refresh: tokens.successor(of: token, attempt: attempt, generation: generation, knownBy: refreshed.current), at: now)
    case .race(let wait): throw AccountRefusal(.refreshRaced, retryAfter: wait)
    case .end(let cause):
      journal.sessionsEnded(1, cause)
      throw AccountRefusal(cause.refusal, detail: "ended_now")
    case .ended(let cause):
      // Of what an operator did, the last word: nobody signs in again while the account is suspended.
      if cause == .revokedByOperator, try await accounts.isSuspended(owner.user) {
        throw AccountRefusal(.accountSuspended, detail: "ended_before")
      }
      throw AccountRefusal(cause.refusal, detail: "ended_before")
    case .unknown:
      throw AccountRefusal(.invalidRefreshToken, detail: refreshed.session == nil ? "no_session" : "never_issued")
    }
  }

  /// What was shown, by its form and its seal: nobody is asked.
  private func shown(_ text: String, _ attempt: String) async throws -> (RefreshTokens, RefreshToken) {
    guard attempt.isEmpty || (16...64).contains(attempt.utf8.count) else {
      throw AccountRefusal(field: "attempt", "16 to 64 characters, or none")
    }
    let tokens = RefreshTokens(pepper: try await pepper.pepper())
    guard let token = tokens.read(text) else { throw AccountRefusal(.invalidRefreshToken, detail: "not_sealed") }
    return (tokens, token)
  }
}

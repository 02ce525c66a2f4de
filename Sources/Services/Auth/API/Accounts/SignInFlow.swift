internal import AuthDomain
internal import AuthStore
internal import JOSE
internal import ParleyAPI
internal import PostgreSQL
internal import Values

/// Signing in: a nonce, and the exchange of a provider's token for a session.
struct SignInFlow: Sendable {
  /// A provider's token to exchange, from whichever provider.
  struct Request: Sendable {
    var app: String
    /// Nil where the request names none.
    var provider: AuthDomain.IdentityProvider?
    var token: String
    /// The token's field in the request.
    var tokenField: String
    var nonce: String
    var device: ParleyAPI.Device?
    /// The person's name, where the app was told.
    var name: String?
    /// The authorization code that came with the token.
    var code: String?
  }

  /// A nonce that was issued.
  struct Nonce: Sendable {
    var text: String
    var providerText: String
    var form: AuthDomain.NonceForm
    var expiresAt: Instant
  }

  let rules: AccountRules
  let apps: AppCatalogue
  let verifier: @Sendable (AuthDomain.IdentityProvider, App) -> (any IdentityVerifying)?
  let store: SignInStore
  let accounts: AccountStore
  let activity: ActivityStore
  let pepper: RefreshPeppers
  let limits: AccountLimits
  let issuer: SessionIssuer
  /// What keeps codes; nil where nobody could exchange them.
  let grants: AppleGrants?
  let journal: AccountJournal
  let now: @Sendable () -> Instant

  // MARK: Nonce

  func begin(
    _ name: String, _ provider: AuthDomain.IdentityProvider?, for client: AccountClient
  ) async throws -> Nonce {
    let limit = limit(name, client)
    let found: (app: App, provider: AuthDomain.IdentityProvider)
    do throws(AccountRefusal) { found = try passage(name, provider) } catch {
      try await limit.pass()
      throw error
    }
    let (app, provider) = found
    let text = Base64URL.encode(SecureRandom.bytes(NonceRule.byteCount))
    let rule = NonceRule(app[provider].nonceForm)
    let expiresAt = now().advanced(by: AccountRules.nonceLifetime)
    try await limit.pass { take throws(DatabaseError) in
      (
        try await store.issue(
          nonce: Self.digest(text), app: app.name, provider: provider, expiresAt: expiresAt, taking: take), ()
      )
    }
    return Nonce(
      text: text, providerText: rule.providerText(text, hashed: Self.hexadecimal(text)), form: rule.form, expiresAt: expiresAt)
  }

  // MARK: Exchange

  func exchange(
    _ request: Request, for client: AccountClient
  ) async throws -> (tokens: SessionTokens, account: Account, isNew: Bool) {
    let proof = try await verified(request, for: client)
    let (app, provider, identity, device) = (proof.app, proof.identity.provider, proof.identity, proof.device)

    let now = now()
    let newUser = UserID(Self.identifier(at: now))
    let session = SessionRecord(
      id: SessionID(Self.identifier(at: now)), user: newUser, app: app.name, provider: provider, device: device, createdAt: now,
      authenticatedAt: now, lastUsedAt: now, lastAddress: client.address, expiresAt: now)
    // A token serves once: whether there is a key to sign with is found out before it is used up.
    try await issuer.mustBeReady()
    let token = RefreshTokens(pepper: try await pepper.pepper()).first(of: session.id)
    let state = RefreshState(first: RefreshTokens.digest(token), at: now, rules: rules.refresh)
    let exchange = SignInStore.Exchange(
      nonce: proof.nonce, token: proof.token, tokenExpiresAt: proof.tokenExpiresAt, identity: identity,
      name: PersonName.proposed(told: request.name, for: identity), newUser: newUser, session: session, state: state,
      requestID: client.requestID)
    switch try await store.exchange(exchange, at: now) {
    case .refused(let kind):
      await uncancelled { await note(kind, identity, app, client) }
      throw AccountRefusal(kind)
    case .signedIn(let account, let isNew):
      var session = session
      (session.user, session.expiresAt) = (account.id, state.expiresAt)
      if let code = proof.code, let grants {
        let grant = ProviderGrant(user: account.id, provider: provider, clientID: identity.audience)
        await grants.keep(code: code, of: identity.subject, for: grant)
      }
      return (try await issuer.tokens(session, refresh: token, at: now), account, isNew)
    }
  }

  /// A provider's token that was judged and carries the nonce. Whether either has served before is for the store to say.
  struct Proof: Sendable {
    var app: App
    var identity: VerifiedIdentity
    var device: AuthDomain.Device
    /// The authorization code that came with the token.
    var code: String?
    /// What the nonce is known by.
    var nonce: AuthDomain.Digest
    /// What the token is known by.
    var token: AuthDomain.Digest
    /// Until when the token could be shown again.
    var tokenExpiresAt: Instant
  }

  /// Judges what is shown, in the order that tells a stranger the least.
  func verified(_ request: Request, for client: AccountClient) async throws(AccountRefusal) -> Proof {
    try await limit(request.app, client).pass()
    let (app, provider) = try passage(request.app, request.provider)
    guard let verifier = verifier(provider, app) else { throw AccountRefusal(.providerNotOffered) }
    guard !request.token.isEmpty else { throw AccountRefusal(field: request.tokenField, "the provider's token") }
    guard !request.nonce.isEmpty else { throw AccountRefusal(field: "nonce", "the nonce that BeginSignIn issued") }
    let device = try AuthDomain.Device(request.device)
    let code = try Self.code(request.code)
    let identity = try await verified(request.token, verifier)
    guard Base64URL.decode(request.nonce)?.count == NonceRule.byteCount else {
      throw AccountRefusal(.nonceUnknown, detail: "nonce_malformed")
    }
    try NonceRule(app[provider].nonceForm)
      .judge(identity, nonce: request.nonce, hashed: Self.hexadecimal(request.nonce))
    return Proof(
      app: app, identity: identity, device: device, code: code, nonce: Self.digest(request.nonce),
      token: Self.digest(request.token),
      tokenExpiresAt: identity.expiresAt.advanced(by: AccountRules.mostLeeway))
  }

  // MARK: Steps

  /// What comes before any look at a token: whoever calls too often is told nothing else.
  private func limit(_ name: String, _ client: AccountClient) -> LimitGate {
    let app = apps[name]
    // An app with a limit of its own has buckets of its own.
    let key = app?.limits.signIn == nil ? client.addressKey : "\(app?.name ?? "")/\(client.addressKey)"
    return limits.gate(
      .signIn(from: key), app?.limits.signIn ?? rules.signInLimit, at: now(), otherwise: .addressLimited)
  }

  private func passage(
    _ name: String, _ provider: AuthDomain.IdentityProvider?
  ) throws(AccountRefusal) -> (App, AuthDomain.IdentityProvider) {
    guard let app = apps[name] else { throw AccountRefusal(.unknownApp) }
    guard let provider else { throw AccountRefusal(field: "provider", "with whom the person signs in") }
    guard app.offers(provider) else { throw AccountRefusal(.providerNotOffered) }
    return (app, provider)
  }

  private func verified(_ token: String, _ verifier: any IdentityVerifying) async throws(AccountRefusal) -> VerifiedIdentity {
    let identity: VerifiedIdentity
    do { identity = try await verifier.verify(token) } catch {
      switch error.kind {
      case .rejected: throw AccountRefusal(.invalidIDToken, detail: error.reason)
      case .unavailable: throw AccountRefusal(.keysUnavailable, detail: error.reason)
      case .cancelled: throw AccountRefusal(.cancelled)
      }
    }
    guard !identity.subject.isEmpty, !identity.subject.utf8.contains(0), identity.email?.utf8.contains(0) != true else {
      throw AccountRefusal(.invalidIDToken, detail: "subject_malformed")
    }
    return identity
  }

  /// The person is refused either way, so what cannot be noted is only logged.
  private func note(_ kind: AccountRefusal.Kind, _ identity: VerifiedIdentity, _ app: App, _ client: AccountClient) async {
    do throws(DatabaseError) {
      guard let user = try await accounts.user(identity.subject, of: identity.provider, in: app.name) else { return }
      try await activity.add(
        AuthDomain.Activity(
          user: user, app: app.name, at: now(), action: .signedIn, outcome: .refused, reason: kind.reason,
          address: client.address, requestID: client.requestID))
    } catch {
      journal.notNoted("\(error)")
    }
  }

  /// Nil when there is none.
  private static func code(_ text: String?) throws(AccountRefusal) -> String? {
    guard let text, !text.isEmpty else { return nil }
    guard text.utf8.count <= AppleGrants.longestCode, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw AccountRefusal(
        field: "authorization_code", "at most \(AppleGrants.longestCode) characters of ASCII, and no blanks among them")
    }
    return text
  }

  private static func identifier(at now: Instant) -> UUID { .v7(at: now) }

  private static func digest(_ text: String) -> AuthDomain.Digest { RefreshTokens.digest(Array(text.utf8)) }

  private static func hexadecimal(_ text: String) -> String { Hexadecimal.text(SHA256.digest(text)) }
}

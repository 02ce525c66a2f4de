internal import AuthDomain
internal import AuthStore
internal import Pages
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import Values
internal import WellKnown

/// `parley.auth.v1.AuthService`.
struct AccountHandlers: ParleyAPI.AuthService.Handlers {
  let signIn: SignInFlow
  let refreshing: RefreshFlow
  let accounts: AccountStore
  let sessions: SessionStore
  let activity: ActivityStore
  let journal: AccountJournal
  let calls: JournalledCalls
  let pages: PageKeyStore
  let now: @Sendable () -> Instant

  // MARK: Signing in

  func beginSignIn(_ request: BeginSignInRequest, _ call: CallContext) async throws -> BeginSignInResponse {
    try await calls.answer(call) { client in
      let nonce = try await signIn.begin(request.app, .init(request.provider), for: client)
      return .init(
        nonce: nonce.text, providerNonce: nonce.providerText, form: nonce.form.message, expiresAt: .init(nonce.expiresAt))
    }
  }

  func signInWithGoogle(_ request: SignInWithGoogleRequest, _ call: CallContext) async throws -> SignInWithGoogleResponse {
    try await calls.answer(call) { client in
      let exchange = SignInFlow.Request(
        app: request.app, provider: .google, token: request.idToken, tokenField: "id_token", nonce: request.nonce,
        device: request.device)
      let (tokens, account, isNew) = try await signIn.exchange(exchange, for: client)
      return .init(tokens: tokens, profile: account.message, isNewAccount: isNew)
    }
  }

  func signInWithApple(_ request: SignInWithAppleRequest, _ call: CallContext) async throws -> SignInWithAppleResponse {
    try await calls.answer(call) { client in
      let exchange = SignInFlow.Request(
        app: request.app, provider: .apple, token: request.identityToken, tokenField: "identity_token", nonce: request.nonce,
        device: request.device, name: request.fullName?.givenName, code: request.authorizationCode)
      let (tokens, account, isNew) = try await signIn.exchange(exchange, for: client)
      return .init(tokens: tokens, profile: account.message, isNewAccount: isNew)
    }
  }

  func refreshSession(_ request: RefreshSessionRequest, _ call: CallContext) async throws -> RefreshSessionResponse {
    try await calls.answer(call) { client in
      .init(tokens: try await refreshing.refresh(request.refreshToken, attempt: request.attempt, for: client))
    }
  }

  // MARK: Sessions

  func signOut(_ request: SignOutRequest, _ call: CallContext) async throws -> SignOutResponse {
    let caller = try call.caller
    return try await calls.answer(call) { client in
      _ = try await end(.one(caller.session), of: caller.user, .signedOut, client)
      return .init()
    }
  }

  func listSessions(_ request: ListSessionsRequest, _ call: CallContext) async throws -> ListSessionsResponse {
    let caller = try call.caller
    return try await calls.answer(call) { _ in
      let size = try PageToken.size(request.pageSize)
      let token = try await PageToken(pages, call, of: caller.user)
      let found = try await sessions.list(
        of: caller.user, after: token.session(request.pageToken), limit: size + 1, at: now())
      let page = found.prefix(size)
      return .init(
        sessions: page.map { $0.message(isCurrent: $0.id == caller.session) },
        nextPageToken: found.count > size ? page.last.map { token.session($0) } ?? "" : "")
    }
  }

  func revokeSession(_ request: RevokeSessionRequest, _ call: CallContext) async throws -> RevokeSessionResponse {
    let caller = try call.caller
    return try await calls.answer(call) { client in
      // Another person's session is as absent as one that never was.
      guard let session = SessionID(request.sessionID) else { throw AccountRefusal(.sessionNotFound, detail: "malformed") }
      if try await end(.one(session), of: caller.user, .revoked, client) == 0 {
        guard try await sessions.exists(session, of: caller.user) else { throw AccountRefusal(.sessionNotFound) }
      }
      return .init()
    }
  }

  func revokeSessions(_ request: RevokeSessionsRequest, _ call: CallContext) async throws -> RevokeSessionsResponse {
    let caller = try call.caller
    return try await calls.answer(call) { client in
      let selection = request.includingCurrent ? SessionStore.Selection.all : .allBut(caller.session)
      return .init(count: Int32(clamping: try await end(selection, of: caller.user, .revoked, client)))
    }
  }

  private func end(
    _ selection: SessionStore.Selection, of user: UserID, _ cause: AuthDomain.SessionEnd, _ client: AccountClient
  ) async throws -> Int {
    let ended = try await sessions.end(selection, of: user, cause, at: now(), for: client.stored)
    journal.sessionsEnded(ended.count, cause)
    return ended.count
  }

  // MARK: The account

  func getProfile(_ request: GetProfileRequest, _ call: CallContext) async throws -> GetProfileResponse {
    let caller = try call.caller
    return try await calls.answer(call) { _ in
      guard let account = try await accounts.account(caller.user) else { throw AccountRefusal(.accountDeleted) }
      return .init(profile: account.message)
    }
  }

  func updateProfile(_ request: UpdateProfileRequest, _ call: CallContext) async throws -> UpdateProfileResponse {
    let caller = try call.caller
    return try await calls.answer(call) { client in
      let profile = request.profile ?? .init()
      guard request.updateMask?.paths == ["name"] else { throw AccountRefusal(field: "update_mask", "name, and nothing else") }
      guard let name = PersonName.chosen(profile.name) else {
        throw AccountRefusal(field: "profile.name", "1 to \(PersonName.limit) characters, none of them a control character")
      }
      let entry = AuthDomain.Activity(
        user: caller.user, app: caller.app, at: now(), action: .profileChanged, session: caller.session, address: client.address,
        requestID: client.requestID)
      guard let account = try await accounts.rename(caller.user, to: name, noting: entry) else {
        throw AccountRefusal(.accountDeleted)
      }
      return .init(profile: account.message)
    }
  }

  func listActivity(_ request: ListActivityRequest, _ call: CallContext) async throws -> ListActivityResponse {
    let caller = try call.caller
    return try await calls.answer(call) { _ in
      let size = try PageToken.size(request.pageSize)
      let token = try await PageToken(pages, call, of: caller.user)
      let found = try await activity.list(of: caller.user, before: token.activity(request.pageToken), limit: size + 1)
      let page = found.prefix(size)
      return .init(
        entries: page.map(\.message),
        nextPageToken: found.count > size ? page.last.map { token.activity($0.id) } ?? "" : "")
    }
  }
}

extension Caller {
  var user: UserID { UserID(userID) }
  var session: SessionID { SessionID(sessionID) }
}

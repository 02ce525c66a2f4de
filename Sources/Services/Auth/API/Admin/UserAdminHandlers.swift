internal import AuthDomain
internal import AuthStore
internal import Logging
internal import Pages
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import Values
internal import WellKnown

/// `parley.auth.v1.UserAdminService`: people's accounts and sessions, and the audit, for operators.
struct UserAdminHandlers: UserAdminService.Handlers {
  let apps: AppCatalogue
  let users: UserDirectory
  let suspensions: SuspensionStore
  let sessions: SessionStore
  let audit: AuditStore
  /// By what the ledger of cloud tokens knows people.
  let subjects: any SubjectHashing
  let journal: AccountJournal
  let calls: JournalledCalls
  let pages: PageKeyStore
  let now: @Sendable () -> Instant
  let log: Logger

  // MARK: Users

  func listUsers(_ request: ListUsersRequest, _ call: CallContext) async throws -> ListUsersResponse {
    try await answer(call) { _ in
      let size = try PageToken.size(request.pageSize)
      let filter = UserFilter(
        app: request.app.unlessEmpty, provider: try Self.provider(request.provider), email: request.email.unlessEmpty,
        createdSince: try Instant(request.createdSince, "created_since"),
        createdUntil: try Instant(request.createdUntil, "created_until"), suspendedOnly: request.suspendedOnly)
      let token = try await PageToken(pages, call)
      let found = try await users.list(filter, after: token.user(request.pageToken), limit: size + 1, at: now())
      let page = found.prefix(size)
      return .init(
        users: page.map(\.message),
        nextPageToken: found.count > size ? page.last.map { token.user($0.account) } ?? "" : "")
    }
  }

  func getUser(_ request: GetUserRequest, _ call: CallContext) async throws -> GetUserResponse {
    try await answer(call) { _ in
      guard request.provider != .unspecified else {
        guard request.subject.isEmpty, request.app.isEmpty, !request.userID.isEmpty else {
          throw AccountRefusal(field: "user_id", "it alone, or provider and subject")
        }
        return .init(user: try await user(try Self.user(request.userID)).message)
      }
      guard request.userID.isEmpty, !request.subject.isEmpty, let provider = try Self.provider(request.provider) else {
        throw AccountRefusal(field: "subject", "with provider, and without user_id")
      }
      let app = request.app.unlessEmpty ?? apps.default.name
      guard let found = try await users.user(request.subject, of: provider, in: app, at: now()) else {
        throw AccountRefusal(.userNotFound)
      }
      return .init(user: found.message)
    }
  }

  func suspendUser(_ request: SuspendUserRequest, _ call: CallContext) async throws -> SuspendUserResponse {
    try await answer(call) { client in
      let (id, client) = (try Self.user(request.userID), try operation(request.reason, call, client))
      guard let ended = try await suspensions.suspend(id, at: now(), by: client) else { throw AccountRefusal(.userNotFound) }
      journal.sessionsEnded(ended.count, .revokedByOperator)
      note("account suspended", id, client)
      return .init(user: try await user(id).message, endedSessions: Int32(clamping: ended.count))
    }
  }

  func reinstateUser(_ request: ReinstateUserRequest, _ call: CallContext) async throws -> ReinstateUserResponse {
    try await answer(call) { client in
      let (id, client) = (try Self.user(request.userID), try operation(request.reason, call, client))
      guard try await suspensions.reinstate(id, at: now(), by: client) else { throw AccountRefusal(.userNotFound) }
      note("account reinstated", id, client)
      return .init(user: try await user(id).message)
    }
  }

  // MARK: Sessions

  func listUserSessions(_ request: ListUserSessionsRequest, _ call: CallContext) async throws -> ListUserSessionsResponse {
    try await answer(call) { _ in
      let (id, size) = (try Self.user(request.userID), try PageToken.size(request.pageSize))
      let token = try await PageToken(pages, call, of: id)
      let place = try token.session(request.pageToken)
      _ = try await user(id)
      let found = try await sessions.list(of: id, after: place, limit: size + 1, at: now())
      let page = found.prefix(size)
      return .init(
        sessions: page.map { $0.message(isCurrent: false) },
        nextPageToken: found.count > size ? page.last.map { token.session($0) } ?? "" : "")
    }
  }

  func revokeUserSessions(
    _ request: RevokeUserSessionsRequest, _ call: CallContext
  ) async throws -> RevokeUserSessionsResponse {
    try await answer(call) { client in
      let (id, client) = (try Self.user(request.userID), try operation(request.reason, call, client))
      var selection = SessionStore.Selection.all
      if !request.sessionID.isEmpty {
        guard let session = SessionID(request.sessionID), try await sessions.exists(session, of: id) else {
          throw AccountRefusal(.sessionNotFound)
        }
        selection = .one(session)
      }
      let ended = try await sessions.end(selection, of: id, .revokedByOperator, at: now(), for: client)
      if ended.isEmpty { _ = try await user(id) }
      journal.sessionsEnded(ended.count, .revokedByOperator)
      note("sessions ended", id, client)
      return .init(count: Int32(clamping: ended.count))
    }
  }

  // MARK: Audit

  func listAudit(_ request: ListAuditRequest, _ call: CallContext) async throws -> ListAuditResponse {
    try await answer(call) { _ in
      let size = try PageToken.size(request.pageSize, atMost: 500)
      var filter = AuditFilter(
        action: request.action.unlessEmpty, reason: request.reason.unlessEmpty, since: try Instant(request.since, "since"),
        until: try Instant(request.until, "until"))
      if !request.outcome.isEmpty {
        filter.outcome = AuthDomain.AuditEntry.Outcome(rawValue: request.outcome)
        guard filter.outcome != nil else { throw AccountRefusal(field: "outcome", "done, refused or failed") }
      }
      if !request.userID.isEmpty { filter.person = try await person(try Self.user(request.userID)) }
      let token = try await PageToken(pages, call)
      let found = try await audit.entries(filter, before: token.activity(request.pageToken), limit: size + 1)
      let page = found.prefix(size)
      let next = found.count > size ? page.last.flatMap { UUID($0.id) }.map { token.activity($0) } : nil
      return .init(entries: page.map(\.message), nextPageToken: next ?? "")
    }
  }

  /// The broker knows people by what Google calls them. What is on record of an account that is gone is still listed.
  private func person(_ id: UserID) async throws -> AuditFilter.Person {
    guard let found = try await users.user(id, at: now()), found.account.provider == .google, !found.subject.isEmpty else {
      return AuditFilter.Person(user: id, subject: nil)
    }
    do throws(PortFailure) { return AuditFilter.Person(user: id, subject: try await subjects.hash(found.subject)) } catch {
      throw error.kind == .cancelled ? RPCError(.cancelled, "cancelled") : RPCError(.unavailable, "the audit cannot be read now")
    }
  }

  // MARK: Every call

  private func answer<Value>(_ call: CallContext, _ body: (AccountClient) async throws -> Value) async throws -> Value {
    try await calls.answer(call, body)
  }

  private func user(_ id: UserID) async throws -> UserRecord {
    guard let found = try await users.user(id, at: now()) else { throw AccountRefusal(.userNotFound) }
    return found
  }

  /// Who does it and why, as it is noted.
  private func operation(
    _ reason: String, _ call: CallContext, _ client: AccountClient
  ) throws(AccountRefusal) -> SessionStore.Client {
    guard (1...500).contains(reason.count), reason.unicodeScalars.count <= 2000, !reason.utf8.contains(0) else {
      throw AccountRefusal(field: "reason", "1 to 500 characters")
    }
    var noted = client.stored
    (noted.actor, noted.note) = (call.peerIdentity?.name ?? "", reason)
    return noted
  }

  private func note(_ what: Logger.Message, _ id: UserID, _ client: SessionStore.Client) {
    log.warning(
      what,
      metadata: [
        "user": "\(id)", "operator": "\(client.actor)", "reason": "\(client.note)", "request_id": "\(client.requestID)",
      ])
  }

  private static func user(_ text: String) throws(AccountRefusal) -> UserID {
    guard let id = UserID(text) else { throw AccountRefusal(field: "user_id", "the account's identifier") }
    return id
  }

  private static func provider(
    _ provider: ParleyAPI.IdentityProvider
  ) throws(AccountRefusal) -> AuthDomain.IdentityProvider? {
    if provider == .unspecified { return nil }
    guard let known = AuthDomain.IdentityProvider(provider) else { throw AccountRefusal(field: "provider", "one of those known") }
    return known
  }
}

extension String {
  fileprivate var unlessEmpty: String? { isEmpty ? nil : self }
}

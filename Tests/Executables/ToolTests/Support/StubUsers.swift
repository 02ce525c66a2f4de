import EventLoop
import ParleyAPI
import RPC
import Synchronization
import TestSupport
import WellKnown

/// People for operators, in this process: what was asked is noted with who asked.
final class StubUsers: UserAdminService.Handlers {
  static let time = GoogleProtobuf.Timestamp(seconds: 1_767_326_645)

  struct State {
    var users: [User] = ["ana", "bo", "cy"].enumerated().map { number, name in
      User(
        profile: .init(
          userID: "user-\(number + 1)", app: "default", name: name, email: number < 2 ? "both@example.org" : "cy@example.org",
          emailVerified: true, provider: .google, createdAt: StubUsers.time), subject: "sub-\(name)", liveSessions: 2,
        lastUsedAt: StubUsers.time)
    }
    var entries: [AuditEntry] = []
    var asked: [String] = []
    var audits: [ListAuditRequest] = []
    var lists: [ListUsersRequest] = []
  }

  let state = Mutex(State())
  let switches = StubSwitches()
  /// Rises with each page of the audit that somebody asked for.
  let looks = Tally("looks at the audit")

  private func note(_ call: CallContext, _ words: String...) {
    let who = call.peerIdentity?.name ?? "nobody"
    state.withLock { $0.asked.append(([call.method.name] + words + [who]).joined(separator: " ")) }
  }

  private func user(_ matches: (User) -> Bool) throws -> User {
    guard let user = state.withLock({ $0.users.first(where: matches) }) else {
      throw RPCError(
        .notFound, "no such account", details: [.errorInfo(reason: "USER_NOT_FOUND", domain: "parley.auth.v1", metadata: [:])])
    }
    return user
  }

  /// Two to a page.
  func listUsers(_ request: ListUsersRequest, _ call: CallContext) async throws -> ListUsersResponse {
    state.withLock { $0.lists.append(request) }
    let all = state.withLock { $0.users.filter { request.email.isEmpty || $0.profile?.email == request.email } }
    let start = Int(request.pageToken) ?? 0
    let page = all[start...].prefix(min(2, Int(request.pageSize)))
    return .init(users: Array(page), nextPageToken: start + page.count < all.count ? "\(start + page.count)" : "")
  }

  func getUser(_ request: GetUserRequest, _ call: CallContext) async throws -> GetUserResponse {
    .init(
      user: try user { $0.profile?.userID == request.userID || (request.provider == .google && $0.subject == request.subject) })
  }

  func suspendUser(_ request: SuspendUserRequest, _ call: CallContext) async throws -> SuspendUserResponse {
    note(call, request.userID, request.reason)
    var user = try user { $0.profile?.userID == request.userID }
    user.suspension = .init(at: Self.time, by: "spiffe://parley/operator", reason: request.reason)
    return .init(user: user, endedSessions: 2)
  }

  func reinstateUser(_ request: ReinstateUserRequest, _ call: CallContext) async throws -> ReinstateUserResponse {
    note(call, request.userID, request.reason)
    return .init(user: try user { $0.profile?.userID == request.userID })
  }

  func listUserSessions(_ request: ListUserSessionsRequest, _ call: CallContext) async throws -> ListUserSessionsResponse {
    let isFirst = request.pageToken.isEmpty
    return .init(
      sessions: [
        .init(
          id: isFirst ? "session-2" : "session-1", device: .init(name: "phone\u{1b}[31m"), provider: .google,
          createdAt: Self.time,
          lastUsedAt: Self.time, lastAddress: "192.0.2.1")
      ], nextPageToken: isFirst ? "1" : "")
  }

  func revokeUserSessions(
    _ request: RevokeUserSessionsRequest, _ call: CallContext
  ) async throws -> RevokeUserSessionsResponse {
    note(call, request.userID, request.sessionID, request.reason)
    return .init(count: request.sessionID.isEmpty ? 2 : 1)
  }

  func listAudit(_ request: ListAuditRequest, _ call: CallContext) async throws -> ListAuditResponse {
    defer { looks.add() }
    return state.withLock { state in
      state.audits.append(request)
      let since = request.since?.seconds ?? 0
      let all = state.entries.filter { ($0.at?.seconds ?? 0) >= since }.sorted { $0.id > $1.id }
      let start = Int(request.pageToken) ?? 0
      let page = all[min(start, all.count)...].prefix(min(2, Int(request.pageSize)))
      return .init(entries: Array(page), nextPageToken: start + page.count < all.count ? "\(start + page.count)" : "")
    }
  }

  /// Adds an entry of the audit.
  func add(_ number: Int, at seconds: Int64, _ action: String, note: String = "") {
    let entry = AuditEntry(
      id: "entry-\(number)", at: .init(seconds: seconds), kind: .activity, action: action, outcome: "done", actor: "self",
      userID: "user-1", app: "default", note: note, clientAddress: "192.0.2.1")
    state.withLock { $0.entries.append(entry) }
  }

  /// Runs `body` with a server of it, which wants a certificate.
  func serve(_ body: (OperatorPlace) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "users", blockingThreads: 1)
    defer { group.shutDown() }
    try await OperatorPlace.serve([UserAdminService.routes(self), BrokerAdminService.routes(switches)], on: group, body)
  }
}

import EventLoop
import JOSE
import JSON
import ParleyAPI
import RPC
import RPCServer
import Synchronization
import WellKnown

/// An auth service in this process: one person, any number of sessions, refresh tokens that serve once.
final class StubAccounts: AuthService.Handlers {
  struct State {
    var nonces: Set<String> = []
    var count = 0
    /// Access token → session; refresh token → session.
    var access: [String: String] = [:]
    var refresh: [String: String] = [:]
    var sessions: [String: ParleyAPI.Session] = [:]
    var endReason = "SESSION_REVOKED"
    var lifetime: Int64 = 300
    var refreshes = 0
    var target = ""
  }

  /// Where it was served last.
  var lastTarget: String { state.withLock { $0.target } }

  let state = Mutex(State())

  private static func refusal(_ reason: String) -> RPCError {
    RPCError(.unauthenticated, "refused", details: [.errorInfo(reason: reason, domain: "parley.auth.v1", metadata: [:])])
  }

  func beginSignIn(_ request: BeginSignInRequest, _ call: CallContext) async throws -> BeginSignInResponse {
    state.withLock { state in
      state.count += 1
      state.nonces.insert("nonce-\(state.count)")
      return .init(nonce: "nonce-\(state.count)", providerNonce: "provider-nonce-\(state.count)", form: .raw)
    }
  }

  func signInWithGoogle(_ request: SignInWithGoogleRequest, _ call: CallContext) async throws -> SignInWithGoogleResponse {
    let tokens = try signIn(request.nonce, request.idToken, request.device, .google)
    return .init(tokens: tokens, profile: Self.profile, isNewAccount: true)
  }

  func signInWithApple(_ request: SignInWithAppleRequest, _ call: CallContext) async throws -> SignInWithAppleResponse {
    let tokens = try signIn(request.nonce, request.identityToken, request.device, .apple)
    return .init(tokens: tokens, profile: Self.profile, isNewAccount: false)
  }

  private func signIn(
    _ nonce: String, _ token: String, _ device: Device?, _ provider: IdentityProvider
  ) throws -> SessionTokens {
    let parts = token.split(separator: ".")
    let claims = parts.count == 3 ? Base64URL.decode(String(parts[1])).flatMap { try? JSONParser.parse($0) } : nil
    return try state.withLock { state in
      guard state.nonces.remove(nonce) != nil else { throw Self.refusal("NONCE_UNKNOWN") }
      guard claims?["nonce"]?.string == "provider-\(nonce)" else { throw Self.refusal("NONCE_MISMATCH") }
      state.count += 1
      let id = "session-\(state.count)"
      state.sessions[id] = .init(
        id: id, device: device, provider: provider, createdAt: .init(seconds: 1_767_326_645), lastAddress: "192.0.2.1")
      return Self.tokens(id, &state)
    }
  }

  private static func tokens(_ id: String, _ state: inout State) -> SessionTokens {
    state.count += 1
    state.access = state.access.filter { $0.value != id }
    state.access["access-\(state.count)"] = id
    state.refresh["refresh-\(state.count)"] = id
    return .init(
      accessToken: "access-\(state.count)", tokenType: "Bearer", expiresIn: .init(seconds: state.lifetime),
      refreshToken: "refresh-\(state.count)", sessionID: id)
  }

  private static let profile = Profile(
    userID: "user-1", app: "default", name: "Ana", email: "ana@example.org", emailVerified: true, provider: .google)

  func refreshSession(_ request: RefreshSessionRequest, _ call: CallContext) async throws -> RefreshSessionResponse {
    try state.withLock { state in
      state.refreshes += 1
      guard let id = state.refresh.removeValue(forKey: request.refreshToken), request.attempt.utf8.count >= 16 else {
        throw Self.refusal("INVALID_REFRESH_TOKEN")
      }
      guard state.sessions[id] != nil else { throw Self.refusal(state.endReason) }
      return .init(tokens: Self.tokens(id, &state))
    }
  }

  /// The access token that a session has now.
  func accessToken(of session: String) -> String {
    state.withLock { state in state.access.first { $0.value == session }?.key ?? "" }
  }

  func session(_ call: CallContext) throws -> String {
    let token = call.metadata["authorization"]?.dropFirst("Bearer ".utf8.count) ?? ""
    return try state.withLock { state in
      guard let id = state.access[String(token)] else { throw Self.refusal("INVALID_ACCESS_TOKEN") }
      guard state.sessions[id] != nil else { throw Self.refusal(state.endReason) }
      return id
    }
  }

  func signOut(_ request: SignOutRequest, _ call: CallContext) async throws -> SignOutResponse {
    let id = try session(call)
    state.withLock { $0.sessions[id] = nil }
    return .init()
  }

  /// Two to a page.
  func listSessions(_ request: ListSessionsRequest, _ call: CallContext) async throws -> ListSessionsResponse {
    let own = try session(call)
    let all = state.withLock { $0.sessions.values.sorted { $0.id < $1.id } }
    let start = Int(request.pageToken) ?? 0
    let page = all[start...].prefix(2).map { session in
      var session = session
      session.isCurrent = session.id == own
      return session
    }
    return .init(sessions: page, nextPageToken: start + 2 < all.count ? "\(start + 2)" : "")
  }

  func revokeSession(_ request: RevokeSessionRequest, _ call: CallContext) async throws -> RevokeSessionResponse {
    _ = try session(call)
    guard state.withLock({ $0.sessions.removeValue(forKey: request.sessionID) }) != nil else {
      throw RPCError(
        .notFound, "no such session",
        details: [.errorInfo(reason: "SESSION_NOT_FOUND", domain: "parley.auth.v1", metadata: [:])])
    }
    return .init()
  }

  func revokeSessions(_ request: RevokeSessionsRequest, _ call: CallContext) async throws -> RevokeSessionsResponse {
    let own = try session(call)
    return state.withLock { state in
      let ended = state.sessions.keys.filter { request.includingCurrent || $0 != own }
      for id in ended { state.sessions[id] = nil }
      return .init(count: Int32(ended.count))
    }
  }

  func getProfile(_ request: GetProfileRequest, _ call: CallContext) async throws -> GetProfileResponse {
    _ = try session(call)
    return .init(profile: Self.profile)
  }

  func updateProfile(_ request: UpdateProfileRequest, _ call: CallContext) async throws -> UpdateProfileResponse {
    throw RPCError(.unimplemented, "not here")
  }

  func listActivity(_ request: ListActivityRequest, _ call: CallContext) async throws -> ListActivityResponse {
    throw RPCError(.unimplemented, "not here")
  }

  /// Runs `body` with the address of a server of it.
  func serve(_ data: StubAccountData? = nil, _ body: (String) async throws -> Void) async throws {
    let data = data ?? StubAccountData(self)
    let group = try EventLoopGroup(count: 1, name: "accounts", blockingThreads: 1)
    defer { group.shutDown() }
    let server = RPCServer(on: group, services: [AuthService.routes(self), AccountService.routes(data)])
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    state.withLock { $0.target = "\(address)" }
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body("\(address)")) } catch { outcome = .failure(error) }
    await server.drain(within: .seconds(1))
    try outcome.get()
  }
}

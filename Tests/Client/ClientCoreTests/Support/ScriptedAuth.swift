import Foundation
import ParleyAPI
import RPC
import RPCInProcess
import Synchronization
import WellKnown

/// The auth service as far as sessions go, with the service's own rules on refresh tokens, in memory.
final class ScriptedAuth: AuthService.Handlers {
  struct Session {
    var current: String
    var previous: (token: String, attempt: String, at: Date)?
    var spent: Set<String> = []
    var traps: Set<String> = []
    var endReason: String?
  }

  struct State {
    var sessions: [String: Session] = [:]
    var accessTokens: [String: (session: String, expiresAt: Date)] = [:]
    var count = 0
    var nonces: Set<String> = []
    var refreshes: [(token: String, attempt: String)] = []
    /// So many answers to refreshes are lost on their way: the exchange has happened.
    var lostAnswers = 0
    /// What refreshes are refused with before anything happens.
    var refusal: RPCError?
    var calls: [(method: String, authorization: String?)] = []
    var hold: (@Sendable () async throws -> Void)?
    /// An export, and how many of its bytes come before a download breaks off.
    var export: [UInt8] = []
    var breaks: [Int] = []
    var downloads: [Int64] = []
  }

  static let raceWindow = 10.0
  let clock: SteppedClock
  let state = Mutex(State())
  let lifetime: Int64

  init(clock: SteppedClock, lifetime: Int64 = 300) {
    self.clock = clock
    self.lifetime = lifetime
  }

  var channel: InProcessChannel {
    InProcessChannel(services: [AuthService.routes(self), AccountService.routes(ScriptedAccount(self))])
  }
  var refreshes: [(token: String, attempt: String)] { state.withLock { $0.refreshes } }
  var calls: [(method: String, authorization: String?)] { state.withLock { $0.calls } }
  func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

  /// Ends all sessions.
  func end(_ reason: String) {
    change { state in for id in state.sessions.keys { state.sessions[id]?.endReason = reason } }
  }

  static func refusal(_ reason: String, _ code: StatusCode = .unauthenticated, wait: Duration? = nil) -> RPCError {
    RPCError(
      code, "refused",
      details: [.errorInfo(reason: reason, domain: "parley.auth.v1", metadata: [:])] + (wait.map { [.retryInfo($0)] } ?? []))
  }

  // MARK: Signing in

  func beginSignIn(_ request: BeginSignInRequest, _ call: CallContext) async throws -> BeginSignInResponse {
    note("BeginSignIn", call)
    return state.withLock { state in
      state.count += 1
      state.nonces.insert("nonce-\(state.count)")
      return BeginSignInResponse(nonce: "nonce-\(state.count)", providerNonce: "provider-\(state.count)", form: .raw)
    }
  }

  func signInWithGoogle(_ request: SignInWithGoogleRequest, _ call: CallContext) async throws -> SignInWithGoogleResponse {
    note("SignInWithGoogle", call)
    let tokens = try signIn(request.nonce)
    return SignInWithGoogleResponse(
      tokens: tokens, profile: Profile(userID: "user-1", app: request.app, name: request.idToken), isNewAccount: true)
  }

  func signInWithApple(_ request: SignInWithAppleRequest, _ call: CallContext) async throws -> SignInWithAppleResponse {
    note("SignInWithApple", call)
    let tokens = try signIn(request.nonce)
    return SignInWithAppleResponse(
      tokens: tokens, profile: Profile(userID: "user-1", name: request.fullName?.givenName ?? ""), isNewAccount: false)
  }

  private func signIn(_ nonce: String) throws -> SessionTokens {
    try state.withLock { state in
      guard state.nonces.remove(nonce) != nil else { throw Self.refusal("NONCE_UNKNOWN") }
      state.count += 1
      let id = "s\(state.count)"
      state.sessions[id] = Session(current: "\(id).\(state.count)")
      return tokens(of: id, &state)
    }
  }

  func tokens(of id: String, _ state: inout State) -> SessionTokens {
    state.count += 1
    let access = "access-\(state.count)"
    state.accessTokens[access] = (id, clock.now().addingTimeInterval(Double(lifetime)))
    return SessionTokens(
      accessToken: access, tokenType: "Bearer", expiresIn: .init(seconds: lifetime),
      refreshToken: state.sessions[id]?.current ?? "",
      sessionID: id)
  }

  // MARK: Refreshing

  func refreshSession(_ request: RefreshSessionRequest, _ call: CallContext) async throws -> RefreshSessionResponse {
    note("RefreshSession", call)
    let (refusal, hold) = state.withLock { state in
      state.refreshes.append((request.refreshToken, request.attempt))
      return (state.refusal, state.hold)
    }
    if let refusal { throw refusal }
    let tokens = try exchange(request.refreshToken, request.attempt)
    try await hold?()
    let isLost = state.withLock { state in
      state.lostAnswers -= 1
      return state.lostAnswers >= 0
    }
    if isLost { throw RPCError(.unavailable, "the answer is lost") }
    return RefreshSessionResponse(tokens: tokens)
  }

  /// What the service does with a refresh token, whoever shows it.
  @discardableResult
  func exchange(_ token: String, _ attempt: String) throws -> SessionTokens {
    try state.withLock { state in
      let id = String(token.prefix { $0 != "." })
      guard var session = state.sessions[id] else { throw Self.refusal("INVALID_REFRESH_TOKEN") }
      if let reason = session.endReason { throw Self.refusal(reason) }
      let now = clock.now()
      func rotate() {
        state.count += 1
        session.spent.insert(token)
        session.previous = (token, attempt, now)
        session.current = "\(id).\(state.count)"
      }
      if token == session.current {
        rotate()
      } else if let previous = session.previous, previous.token == token {
        if attempt.isEmpty || attempt != previous.attempt {
          let left = Self.raceWindow - now.timeIntervalSince(previous.at)
          guard left <= 0 else { throw Self.refusal("REFRESH_RACED", .aborted, wait: .seconds(left)) }
          session.traps.insert(session.current)
          rotate()
        }
      } else if session.traps.contains(token) || session.spent.contains(token) {
        state.sessions[id]?.endReason = "REFRESH_REUSED"
        throw Self.refusal("REFRESH_REUSED")
      } else {
        throw Self.refusal("INVALID_REFRESH_TOKEN")
      }
      state.sessions[id] = session
      return tokens(of: id, &state)
    }
  }

  // MARK: Calls of a session

  private func note(_ method: String, _ call: CallContext) {
    state.withLock { $0.calls.append((method, call.metadata["authorization"])) }
  }

  @discardableResult
  func authorize(_ method: String, _ call: CallContext) throws -> String {
    note(method, call)
    return try state.withLock { state in
      guard let header = call.metadata["authorization"], header.hasPrefix("Bearer ") else {
        throw Self.refusal("MISSING_AUTHORIZATION")
      }
      guard let token = state.accessTokens[String(header.dropFirst(7))] else { throw Self.refusal("INVALID_ACCESS_TOKEN") }
      guard clock.now() < token.expiresAt else { throw Self.refusal("ACCESS_TOKEN_EXPIRED") }
      if let reason = state.sessions[token.session]?.endReason { throw Self.refusal(reason) }
      return token.session
    }
  }

  func signOut(_ request: SignOutRequest, _ call: CallContext) async throws -> SignOutResponse {
    let id = try authorize("SignOut", call)
    change { $0.sessions[id]?.endReason = "SESSION_SIGNED_OUT" }
    return .init()
  }

  func getProfile(_ request: GetProfileRequest, _ call: CallContext) async throws -> GetProfileResponse {
    let id = try authorize("GetProfile", call)
    return GetProfileResponse(profile: Profile(userID: "user-1", app: id, name: "Ana"))
  }

  func listSessions(_ request: ListSessionsRequest, _ call: CallContext) async throws -> ListSessionsResponse {
    let id = try authorize("ListSessions", call)
    let sessions = state.withLock { state in
      state.sessions.filter { $0.value.endReason == nil }.keys.sorted().map { ParleyAPI.Session(id: $0, isCurrent: $0 == id) }
    }
    return ListSessionsResponse(sessions: sessions)
  }

  func revokeSession(_ request: RevokeSessionRequest, _ call: CallContext) async throws -> RevokeSessionResponse {
    try authorize("RevokeSession", call)
    change { $0.sessions[request.sessionID]?.endReason = "SESSION_REVOKED" }
    return .init()
  }

  func revokeSessions(_ request: RevokeSessionsRequest, _ call: CallContext) async throws -> RevokeSessionsResponse {
    let own = try authorize("RevokeSessions", call)
    change { state in
      for id in state.sessions.keys where id != own || request.includingCurrent {
        state.sessions[id]?.endReason = "SESSION_REVOKED"
      }
    }
    return .init(count: 1)
  }

  func updateProfile(_ request: UpdateProfileRequest, _ call: CallContext) async throws -> UpdateProfileResponse {
    try authorize("UpdateProfile", call)
    return .init(profile: request.profile)
  }

  func listActivity(_ request: ListActivityRequest, _ call: CallContext) async throws -> ListActivityResponse {
    try authorize("ListActivity", call)
    return .init()
  }
}

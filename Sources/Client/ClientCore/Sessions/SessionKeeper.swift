import Foundation
public import ParleyAPI
public import RPC

/// Keeps a person signed in: gets a session for a provider's token, refreshes it ahead of time, and tells when and why it ends.
///
/// One instance serves the whole app. Before a refresh is sent, the store holds what the server knows it by, until there is an
/// answer: an answer that was lost, by the network or by a crash, is asked for again and comes again. Processes that share a store
/// (``FileTokenStore``) share its session. All errors are the calls' own; without a session they are UNAUTHENTICATED with the
/// reason `NOT_SIGNED_IN`, and the server is not asked.
public actor SessionKeeper {
  /// What can be set.
  public struct Options: Sendable {
    /// The app, by the name that the operator gave it. Empty means the default one.
    public var app: String
    /// The entry of the store.
    public var name: String
    /// An access token with this time left is replaced, though not before half of its life.
    public var margin: Duration
    /// Up to so much earlier, at random, so that a million devices do not come at once.
    public var jitter: Duration
    /// How long a call may take.
    public var timeout: Duration
    /// How long a sign-in or a refresh waits for its answer before it is sent once more beside the first, to another copy of the
    /// service where there is one; nil for never.
    public var hedge: Duration?
    /// How often a refresh is sent that finds nobody.
    public var attempts: Int
    /// What happens when the session ends.
    public var steps: SignOutSteps
    /// Where to write what is done.
    public var log: DebugLog
    /// The time of day.
    public var clock: any WallClock

    /// Options; by default 60 s of margin, 15 s of jitter, 30 s for a call, which is sent again after 2 s, three attempts.
    public init(
      app: String = "", name: String = "session", margin: Duration = .seconds(60), jitter: Duration = .seconds(15),
      timeout: Duration = .seconds(30), hedge: Duration? = .seconds(2), attempts: Int = 3,
      steps: SignOutSteps = SignOutSteps(), log: DebugLog = .none, clock: any WallClock = SystemWallClock()
    ) {
      self.app = app
      self.name = name
      self.margin = margin
      self.jitter = jitter
      self.timeout = timeout
      self.hedge = hedge
      self.attempts = attempts
      self.steps = steps
      self.log = log
      self.clock = clock
    }
  }

  /// Somebody who has just signed in.
  public struct SignedIn: Sendable {
    /// Who.
    public let profile: Profile
    /// Whether the account was made by it.
    public let isNewAccount: Bool
  }

  let auth: AuthService.Client
  let shelf: SessionShelf
  let options: Options
  /// What the store holds, as far as is known here.
  var session: StoredSession?
  var isLoaded = false
  /// Until when no refresh is tried that can wait.
  var restUntil = Date.distantPast
  var refreshing: Flight<String>?
  var signingOut: Flight<Bool>?
  private var listeners: [Int: AsyncStream<SignedOut>.Continuation] = [:]
  private var listenerCount = 0

  /// A keeper of the session in `store`.
  ///
  /// - Parameters:
  ///   - channel: The way to the service, without credentials of its own.
  ///   - store: Where the session outlives the process.
  ///   - options: What can be set.
  public init(channel: any Channel, store: any TokenStore, options: Options = Options()) {
    auth = .init(channel)
    shelf = SessionShelf(store: store, name: options.name)
    self.options = options
  }

  // MARK: Signing in

  /// Gets the nonce to hand to the provider.
  ///
  /// - Returns: `providerNonce` is for the provider, `nonce` for ``signIn(google:nonce:device:)`` and its like.
  public func beginSignIn(with provider: IdentityProvider) async throws(RPCError) -> BeginSignInResponse {
    try await auth.beginSignIn(.init(app: options.app, provider: provider), options: callOptions())
  }

  /// Signs in with an ID token of Google that carries the nonce. A session that was there before is left as it is at the server.
  public func signIn(google idToken: String, nonce: String, device: Device? = nil) async throws(RPCError) -> SignedIn {
    let begun = options.clock.now()
    let request = SignInWithGoogleRequest(app: options.app, idToken: idToken, nonce: nonce, device: device)
    // A token and a nonce serve once: of several calls one at most signs in.
    let response = try await hedged(isIdempotent: false) { [auth, calling = callOptions()] () async throws(RPCError) in
      try await auth.signInWithGoogle(request, options: calling)
    }
    try await keep(response.tokens, response.profile, begun: begun)
    return SignedIn(profile: response.profile ?? .init(), isNewAccount: response.isNewAccount)
  }

  /// Signs in with an identity token of Apple that carries the nonce.
  ///
  /// - Parameters:
  ///   - identityToken: The token.
  ///   - nonce: The nonce of ``beginSignIn(with:)``.
  ///   - device: What the person signs in from.
  ///   - fullName: The person's name, which Apple tells at the first sign-in only.
  ///   - authorizationCode: Apple's code, with which access is withdrawn when the account is deleted.
  public func signIn(
    apple identityToken: String, nonce: String, device: Device? = nil, fullName: FullName? = nil, authorizationCode: String? = nil
  ) async throws(RPCError) -> SignedIn {
    let begun = options.clock.now()
    let request = SignInWithAppleRequest(
      app: options.app, identityToken: identityToken, nonce: nonce, device: device, fullName: fullName,
      authorizationCode: authorizationCode)
    let response = try await hedged(isIdempotent: false) { [auth, calling = callOptions()] () async throws(RPCError) in
      try await auth.signInWithApple(request, options: calling)
    }
    try await keep(response.tokens, response.profile, begun: begun)
    return SignedIn(profile: response.profile ?? .init(), isNewAccount: response.isNewAccount)
  }

  private func keep(_ tokens: SessionTokens?, _ profile: Profile?, begun: Date) async throws(RPCError) {
    guard let tokens, !tokens.accessToken.isEmpty, !tokens.refreshToken.isEmpty else {
      throw RPCError(.internal, "the server signed in without tokens")
    }
    let session = StoredSession(tokens, userID: profile?.userID ?? "", begun: begun, margin: margin())
    try await shelf.update { _ in session }
    self.session = session
    isLoaded = true
    options.log("Session", "signed in")
  }

  // MARK: What the session is

  /// The session's identifier, or nil when nobody is signed in.
  public func sessionID() async throws(RPCError) -> String? { try await current()?.sessionID }

  /// The person's identifier, or nil when nobody is signed in.
  public func userID() async throws(RPCError) -> String? { try await current()?.userID }

  /// Sessions that end from now on, each with its cause. A stream ends when nobody reads it any more.
  public func signOuts() -> AsyncStream<SignedOut> {
    let (stream, continuation) = AsyncStream.makeStream(of: SignedOut.self)
    listenerCount += 1
    let number = listenerCount
    listeners[number] = continuation
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      // From wherever the reader ended; the actor forgets it when it gets to it.
      Task { await self.forget(listener: number) }
    }
    return stream
  }

  private func forget(listener number: Int) { listeners[number] = nil }

  func tell(_ end: SignedOut) {
    for listener in listeners.values { listener.yield(end) }
  }

  /// The session, from the store the first time.
  func current() async throws(RPCError) -> StoredSession? {
    if !isLoaded {
      let stored = try await shelf.load()
      if !isLoaded { session = stored }
      isLoaded = true
    }
    return session
  }

  // MARK: What calls have in common

  func callOptions(bearer token: String? = nil) -> CallOptions {
    CallOptions(metadata: token.map { ["authorization": "Bearer \($0)"] } ?? [:], deadline: .after(options.timeout))
  }

  /// Makes a call that does not wait for a copy of the service that stands still.
  func hedged<Value: Sendable>(
    isIdempotent: Bool, _ call: @escaping @Sendable () async throws(RPCError) -> Value
  ) async throws(RPCError) -> Value {
    try await HedgedCall(delay: options.hedge, isIdempotent: isIdempotent).value(call)
  }

  func margin() -> Duration { options.margin + options.jitter * Double.random(in: 0...1) }

  static var notSignedIn: RPCError {
    RPCError(
      .unauthenticated, "not signed in", details: [.errorInfo(reason: "NOT_SIGNED_IN", domain: "parley.client", metadata: [:])])
  }
}

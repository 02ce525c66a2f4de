internal import AuthAPI
internal import AuthDomain
public import EventLoop
public import Logging
public import ParleyAPI
public import PostgreSQL
internal import RPC
public import RPCClient
public import ServiceKit
internal import TestSupport

/// The auth service with a database of its own, ports of the system's choice and a clock that stands, and people signed in with a
/// line each; other services are started beside it and know its sessions.
///
/// ```swift
/// try await TestParley.with { parley in
///   let ana = try await parley.signIn("ana")
///   _ = try await ParleyAPI.AuthService.Client(parley.channel).getProfile(options: ana.options)
///   try await parley.with(DemoService.self) { _, channel in
///     _ = try await EchoService.Client(channel).guarded(options: ana.options)
///   }
///   try await parley.withCopy { copy, channel in … }  // another process of the auth service, on the same database
/// }
/// ```
///
/// People sign in through the door that everybody uses, with an ID token of a Google that the test has to itself: account and session are
/// rows like any others.
public struct TestParley: Sendable {
  /// The auth service.
  public let auth: ServiceInstance
  /// A channel to it, in clear text.
  public let channel: ClientChannel
  /// The time.
  public let clock: TestClock
  /// Which sessions are alive, as other services are told. It stands in for the auth service's own directory, which is at
  /// ``authAddress``, because tests break it.
  public let directory: TestDirectory
  /// The loops of the test's clients.
  public let loops: EventLoopGroup
  let ground: TestGround
  private let changes: [String: String]

  static let issuer = "https://auth.test"

  // MARK: People

  /// Signs somebody in. The same name is the same account, in another session.
  ///
  /// - Parameters:
  ///   - name: What the test calls the person.
  ///   - app: The app, which the settings name.
  ///   - copy: The channel of the copy of the service to sign in at; the first one's otherwise.
  public func signIn(_ name: String, app: String = "", at copy: ClientChannel? = nil) async throws -> TestUser {
    let client = ParleyAPI.AuthService.Client(copy ?? channel)
    let options = CallOptions(deadline: .after(.seconds(60)))
    let nonce = try await client.beginSignIn(.init(app: app, provider: .google), options: options)
    let token = try idToken(of: name, nonce: nonce.providerNonce)
    let answer = try await client.signInWithGoogle(
      .init(app: app, idToken: token, nonce: nonce.nonce, device: .init(name: "\(name)'s phone")), options: options)
    guard let tokens = answer.tokens, let user = UserID(answer.profile?.userID ?? ""), let session = SessionID(tokens.sessionID)
    else { throw TimedOut("a session") }
    directory.begin(tokens.sessionID)
    return TestUser(name: name, userID: user, sessionID: session, tokens: tokens)
  }

  /// The ID token of somebody who has just proved who they are to the test's Google, for whoever signs in otherwise than by
  /// ``signIn(_:app:at:)``.
  ///
  /// - Parameters:
  ///   - name: What the test calls the person.
  ///   - nonce: What the auth service had told the app for the provider.
  public func idToken(of name: String, nonce: String) throws -> String {
    try ground.google.token(name, nonce: nonce, at: clock.unixSeconds)
  }

  /// Tells other services that somebody's session has ended. The auth service knows nothing of it: it has RPCs for that.
  public func end(_ user: TestUser, _ cause: ParleyAPI.SessionEnd = .signedOut) {
    directory.end(user.sessionID.description, cause, mattersUntil: clock.unixSeconds + 300)
  }

  /// Says that somebody has paid for a product, or does so no more. The auth service knows nothing of it: RevenueCat tells it.
  public func subscribe(_ user: TestUser, _ isSubscribed: Bool = true, to product: String = "") {
    directory.subscribe(user.userID.description, isSubscribed, to: product)
  }

  /// Whether the directory cannot say which product somebody has.
  public func hideProducts(_ isHidden: Bool) { directory.hideProducts(isHidden) }

  /// The database of all services here.
  public func withDatabase<Value: Sendable>(_ body: @Sendable (Database) async throws -> Value) async throws -> Value {
    try await ground.database.open({ _ in }, body)
  }

  // MARK: Services

  /// The PEM file with the authority of all certificates here, which services trust as `OUTBOUND_CA_FILE`.
  public var authorityFile: String { ground.authorityFile }

  /// Where the auth service listens for other services: what `AUTH_ADDRESS` is set to where the true directory is wanted.
  public var authAddress: String { "https://127.0.0.1:\(auth.addresses.tls?.port ?? 0)" }

  /// Starts another copy of the auth service for the length of `body`: the same database, clock and keys, ports and memory of its own.
  ///
  /// - Parameters:
  ///   - changes: Settings that differ from the first one's, without `PARLEY_AUTH_`.
  ///   - body: Gets the copy, and a channel to it in clear text.
  public func withCopy(
    settings changes: [String: String] = [:],
    _ body: @escaping @Sendable (ServiceInstance, ClientChannel) async throws -> Void
  ) async throws {
    try await with(AuthAPI.AuthService.self, settings: changes, body)
  }

  /// Starts so many copies beside the first one, and hands over the channels of all of them, the first one's first.
  public func withCopies(
    _ count: Int, settings changes: [String: String] = [:],
    _ body: @escaping @Sendable ([ClientChannel]) async throws -> Void
  ) async throws {
    try await withCopies(count, changes, [channel], body)
  }

  private func withCopies(
    _ count: Int, _ changes: [String: String], _ channels: [ClientChannel],
    _ body: @escaping @Sendable ([ClientChannel]) async throws -> Void
  ) async throws {
    guard count > 0 else { return try await body(channels) }
    try await withCopy(settings: changes) { _, channel in
      try await withCopies(count - 1, changes, channels + [channel], body)
    }
  }

  /// Starts another service for the length of `body`, and a channel to it in clear text. One with migrations gets its schema in the
  /// database of the auth service. What it logs goes to `log`, what its calls cost the database to `costs`; nil: nowhere.
  public func with<S: Service>(
    _ service: S.Type, settings changes: [String: String] = [:], log: Logger? = nil, costs: CallCosts? = nil,
    _ body: @escaping @Sendable (ServiceInstance, ClientChannel) async throws -> Void
  ) async throws {
    let settings = try TestGround.settings(S.self, try await environment(of: service, changes: changes))
    try await TestGround.serving(S.self, settings, clock.wall, log: log ?? TestGround.silent, costs: costs) { instance in
      let channel = ClientChannel(to: .host("127.0.0.1", port: instance.addresses.grpc?.port ?? 0), on: loops)
      let result = await Result.of { try await body(instance, channel) }
      await channel.close()
      try result.get()
    }
  }

  /// The settings of another service, without `PARLEY_<SERVICE>_`, for whoever starts it as a process. One with migrations gets its
  /// schema in the database of the auth service; the auth service's own are those of a copy.
  public func environment<S: Service>(
    of service: S.Type, changes: [String: String] = [:]
  ) async throws -> [String: String] {
    // As in production on a plain build; under a sanitizer a call takes as many times as long as its deadline.
    let longest = Duration.seconds(60).withPatience.components.seconds
    var environment = [
      "LISTEN": "127.0.0.1:0", "LOOPS": "1", "DRAIN_TIMEOUT": "2s", "MAX_CALL_DURATION": "\(longest)s",
    ]
    if S.name == AuthAPI.AuthService.name {
      environment.merge(ground.authEnvironment.merging(self.changes) { $1 }) { $1 }
    } else {
      environment.merge(ground.peerEnvironment(of: service, jwks: "\(authAddress)/.well-known/jwks.json", Self.issuer)) { $1 }
      if !S.migrations.isEmpty { environment["DATABASE_URL"] = try await ground.database.prepare(S.name, S.migrations) }
    }
    return environment.merging(changes) { $1 }
  }

  /// What a client shows over TLS.
  public enum Certificate: Sendable {
    /// None.
    case none
    /// That of a service, which may call methods of SERVICE access and no others that need one.
    case service
    /// One of the same authority with an identity that may call nothing.
    case stranger

    var file: String? {
      switch self {
      case .none: nil
      case .service: "client"
      case .stranger: "stranger"
      }
    }
  }

  /// A channel over TLS to a service that was started here, for the length of `body`.
  public func withSecureChannel<Value: Sendable>(
    to instance: ServiceInstance, showing certificate: Certificate,
    _ body: @escaping @Sendable (ClientChannel) async throws -> Value
  ) async throws -> Value {
    let channel = try secureChannel(to: instance, showing: certificate)
    let result = await Result.of { try await body(channel) }
    await channel.close()
    return try result.get()
  }

  /// A channel over TLS to a service that was started here. Whoever asks for it closes it.
  public func secureChannel(to instance: ServiceInstance, showing certificate: Certificate) throws -> ClientChannel {
    let configuration = ClientChannelConfiguration(tls: try ground.tls(showing: certificate))
    return ClientChannel(
      to: .host("127.0.0.1", port: instance.addresses.tls?.port ?? 0), on: loops, configuration: configuration)
  }

  // MARK: Starting

  /// Starts it all for the length of `body`.
  ///
  /// - Parameters:
  ///   - changes: Settings of the auth service, without `PARLEY_AUTH_`.
  ///   - clock: The time.
  ///   - body: What is done meanwhile.
  public static func with(
    settings changes: [String: String] = [:], clock: TestClock = TestClock(),
    _ body: @escaping @Sendable (TestParley) async throws -> Void
  ) async throws {
    try await TestGround.with { ground in
      let settings = try TestGround.settings(AuthAPI.AuthService.self, ground.authEnvironment.merging(changes) { $1 })
      try await TestGround.serving(AuthAPI.AuthService.self, settings, clock.wall) { auth in
        let loops = ground.database.group
        let channel = ClientChannel(to: .host("127.0.0.1", port: auth.addresses.grpc?.port ?? 0), on: loops)
        let result = await Result.of {
          try await body(
            TestParley(
              auth: auth, channel: channel, clock: clock, directory: ground.directory, loops: loops, ground: ground,
              changes: changes))
        }
        await channel.close()
        try result.get()
      }
    }
  }
}

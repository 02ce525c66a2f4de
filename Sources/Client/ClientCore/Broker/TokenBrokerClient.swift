public import Foundation
public import ParleyAPI
public import RPC

/// Gets cloud tokens from the token broker for the person who is signed in with Google.
///
/// One instance serves the whole app. A token is used until it has five minutes left; tasks that need a new one at the same time
/// share one call. While the broker cannot answer, a token serves to its end.
public actor TokenBrokerClient: CloudTokenProviding {
  /// What can be set.
  public struct Options: Sendable {
    /// A token with this time left or less is replaced.
    public var buffer: Duration
    /// How long a call to the broker may take.
    public var timeout: Duration
    /// Where tokens outlive the process; nil for memory alone.
    public var store: (any TokenStore)?
    /// Where to write what is done.
    public var log: DebugLog
    /// The time of day.
    public var clock: any WallClock

    /// Options; by default 300 s of buffer, 30 s for a call, tokens in memory, no log.
    public init(
      buffer: Duration = .seconds(300), timeout: Duration = .seconds(30), store: (any TokenStore)? = nil, log: DebugLog = .none,
      clock: any WallClock = SystemWallClock()
    ) {
      self.buffer = buffer
      self.timeout = timeout
      self.store = store
      self.log = log
      self.clock = clock
    }
  }

  /// An ID token with this time left or less is refreshed before it is sent: it has to last until the broker looks at it.
  static let idTokenMargin = Duration.seconds(10)

  private let broker: TokenBrokerService.Client
  private let idTokens: any IDTokenProviding
  private let options: Options
  private let shelf: CloudTokenShelf?
  private var cache: [String: CloudToken] = [:]
  private var isLoaded = false
  private var flights: [String: Flight<CloudToken>] = [:]
  /// Counts the sign-outs: what was begun before one is not kept after it.
  private var era = 0

  /// A client over any channel.
  ///
  /// - Parameters:
  ///   - channel: The way to the broker.
  ///   - idTokens: Who knows the person's Google ID token.
  ///   - options: What can be set.
  public init(channel: any Channel, idTokens: any IDTokenProviding, options: Options = Options()) {
    broker = .init(channel)
    self.idTokens = idTokens
    self.options = options
    shelf = options.store.map { CloudTokenShelf(store: $0) }
  }

  /// A client over URLSession.
  ///
  /// - Parameters:
  ///   - baseURL: Where the broker is: the same for apps on every system.
  ///   - idTokens: Who knows the person's Google ID token.
  ///   - options: What can be set.
  public init(baseURL: URL, idTokens: any IDTokenProviding, options: Options = Options()) {
    self.init(channel: ConnectJSONChannel(baseURL: baseURL), idTokens: idTokens, options: options)
  }

  /// A cloud token that has more than the buffer left, from the cache or from the broker.
  ///
  /// - Parameter capability: What the token is for, by the name that the operator gave it. Empty means the default.
  /// - Throws: ``TokenBrokerError``; `CancellationError` when the task is cancelled.
  public func accessToken(capability: String = "") async throws -> CloudToken {
    await loadOnce()
    if let token = cache[capability], options.clock.now() < token.expiresAt.advanced(by: .zero - options.buffer) {
      options.log("TokenBroker", "using cached access token")
      return token
    }
    return try await flight(for: capability).value()
  }

  /// Forgets all tokens: on sign-out, after Google's sign-out and before the app goes back to its beginning.
  public func clear() async {
    era += 1
    isLoaded = true
    cache = [:]
    flights = [:]
    await persist()
    options.log("TokenBroker", "access token cache cleared")
  }

  /// Forgets a token that the cloud has refused.
  public func discard(_ token: CloudToken) async {
    let refused = cache.filter { $0.value.value == token.value }
    guard !refused.isEmpty else { return }
    for capability in refused.keys { cache[capability] = nil }
    await persist()
    options.log("TokenBroker", "access token cache cleared: the cloud refused the token")
  }

  /// What the broker reads in the person's ID token: a way to see whether sign-in and broker work.
  ///
  /// - Returns: The claims; nil when nobody is signed in, and for whatever else goes wrong.
  public func whoAmI() async -> WhoAmIResponse? {
    do {
      return try await asPerson { broker, options throws(RPCError) in try await broker.whoAmI(options: options) }
    } catch {
      options.log("TokenBroker", "who am I: no answer (\((error as? TokenBrokerError)?.code.rawValue ?? 0))")
      return nil
    }
  }

  // MARK: Getting a token

  private func flight(for capability: String) -> Flight<CloudToken> {
    if let flight = flights[capability] { return flight }
    let flight = Flight<CloudToken>()
    flights[capability] = flight
    // Of its own, so that no caller's cancellation takes it from the others. The timeout of the call ends it.
    Task { [era] in flight.finish(await outcome(capability, in: era)) }
    return flight
  }

  private func outcome(_ capability: String, in era: Int) async -> Result<CloudToken, any Error> {
    let outcome: Result<CloudToken, any Error>
    do { outcome = .success(try await exchange(capability)) } catch { outcome = .failure(error) }
    guard era == self.era else {
      return .failure(TokenBrokerError(.notSignedIn, "the person signed out while the token was asked for"))
    }
    flights[capability] = nil
    switch outcome {
    case .success(let token):
      cache[capability] = token
      await persist()
      let seconds = Int(token.expiresAt.timeIntervalSince(options.clock.now()))
      options.log("TokenBroker", "access token cached (expires in \(seconds)s)")
    case .failure(let error):
      options.log("TokenBroker", "no access token: code \((error as? TokenBrokerError)?.code.rawValue ?? 0)")
      if (error as? TokenBrokerError)?.isUnavailability == true, let token = cache[capability],
        options.clock.now() < token.expiresAt
      {
        options.log("TokenBroker", "using cached access token to its end: the broker is unavailable")
        return .success(token)
      }
    }
    return outcome
  }

  private func exchange(_ capability: String) async throws -> CloudToken {
    // Counted from before the call, so that the way back is not taken for life of the token.
    var begun = options.clock.now()
    let response = try await asPerson { broker, callOptions throws(RPCError) in
      begun = options.clock.now()
      options.log("TokenBroker", "requesting new access token")
      return try await broker.exchangeToken(.init(capability: capability), options: callOptions)
    }
    return CloudToken(
      value: response.accessToken, type: response.tokenType, expiresAt: begun.advanced(by: .seconds(Int(response.expiresIn))))
  }

  /// Calls the broker with the person's ID token; once more with a new one if the broker does not accept it.
  private func asPerson<Response: Sendable>(
    _ call: (TokenBrokerService.Client, CallOptions) async throws(RPCError) -> Response
  ) async throws -> Response {
    let (token, isNew) = try await idToken()
    do {
      return try await call(broker, callOptions(token))
    } catch {
      guard error.code == .unauthenticated, !isNew, let next = try? await idTokens.refreshedIDToken(), next != token else {
        throw TokenBrokerError(error)
      }
      do { return try await call(broker, callOptions(next)) } catch { throw TokenBrokerError(error) }
    }
  }

  private func callOptions(_ token: String) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(token)"], deadline: .after(options.timeout))
  }

  /// The ID token to send, refreshed if its own `exp` says so.
  private func idToken() async throws -> (token: String, isNew: Bool) {
    do {
      guard let token = try await idTokens.currentIDToken() else { throw Self.nobody }
      let now = options.clock.now()
      guard let expiry = IDTokenExpiry.read(token), expiry <= now.advanced(by: Self.idTokenMargin) else { return (token, false) }
      guard let next = try await idTokens.refreshedIDToken() else { throw Self.nobody }
      return (next, true)
    } catch let error as TokenBrokerError {
      throw error
    } catch {
      throw TokenBrokerError(.noResponse, "no Google ID token could be had", cause: error)
    }
  }

  private static var nobody: TokenBrokerError { TokenBrokerError(.notSignedIn, "not signed in") }

  // MARK: The store

  private func loadOnce() async {
    guard !isLoaded, let shelf else { return }
    let (stored, era) = (await shelf.load(), era)
    guard !isLoaded, era == self.era else { return }
    isLoaded = true
    cache.merge(stored) { present, _ in present }
  }

  /// Writes what is in the cache, and once more if that changed meanwhile. A store that fails costs a call after the next start.
  private func persist() async {
    guard let shelf else { return }
    var written: [String: CloudToken]?
    while written != cache {
      let tokens = cache
      await shelf.save(tokens)
      written = tokens
    }
  }
}

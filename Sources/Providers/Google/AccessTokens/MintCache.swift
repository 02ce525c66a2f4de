public import EventLoop
public import OpenID
internal import Synchronization

/// Tokens of the cloud, shared by all callers on all loops until they have too little time left.
///
/// For each scope one token is asked for at a time, however many wait for it. Who stops waiting takes nothing from the others.
///
/// A source that remembers tokens by itself (the metadata server) gives the one that it has until little of it is left, whoever asks. To
/// refuse it would be to give nobody anything for minutes; so it is handed out with the time that it has left, and shared, too, for a
/// moment: else every caller of those minutes would be a question to the source.
public final class MintCache: CloudTokenSource {
  private struct State {
    var tokens: [String: Kept] = [:]
    var flights: [String: SingleFlight<Result<CloudToken, MintError>>] = [:]
  }

  private struct Kept {
    let token: CloudToken
    /// When the source is asked again for one with more time left; nil for a token that has enough.
    let askAgainAt: MonotonicInstant?
  }

  /// How long a token with too little time left is shared before the source is asked again.
  public static let pause = Duration.seconds(10)

  private let source: any CloudTokenSource
  private let minimumRemaining: Duration
  private let pause: Duration
  private let loop: EventLoop
  private let clock: ProviderClock
  private let state = Mutex(State())

  /// A cache before `source`.
  ///
  /// - Parameters:
  ///   - source: Who mints what is not there.
  ///   - minimumRemaining: A token with less time left is not handed out where there is one with more: a client that renews its own
  ///     some minutes ahead would be back at once.
  ///   - pause: How long one with less is shared before the source is asked again; zero where it mints anew each time.
  ///   - loop: Where minting runs that is caused by callers on no loop.
  ///   - clock: What tells how much time a token has left.
  public init(
    _ source: any CloudTokenSource, minimumRemaining: Duration = .seconds(600), pause: Duration = MintCache.pause,
    on loop: EventLoop,
    clock: ProviderClock
  ) {
    self.pause = pause
    self.source = source
    self.minimumRemaining = minimumRemaining
    self.loop = loop
    self.clock = clock
  }

  /// A token with enough time left, or a new one.
  public func mint(scope: String) async throws(MintError) -> CloudToken {
    if let token = cached(scope) { return token }
    let flight = state.withLock { state in
      if let flight = state.flights[scope] { return flight }
      let flight = SingleFlight<Result<CloudToken, MintError>>(on: loop)
      // Scopes come from the operator's catalogue, so there are few.
      state.flights[scope] = flight
      return flight
    }
    let outcome = await flight.join {
      // Another flight may have landed between the look above and this.
      if let token = self.cached(scope) { return .success(token) }
      do throws(MintError) {
        let token = try await self.source.mint(scope: scope)
        let kept = self.kept(token)
        self.state.withLock { $0.tokens[scope] = kept }
        return .success(token)
      } catch {
        return .failure(error)
      }
    }
    guard let outcome else { throw MintError(.cancelled) }
    return try outcome.get()
  }

  /// Whether there is a token that has enough time left.
  public func isAtHand(scope: String) -> Bool { cached(scope) != nil }

  private func cached(_ scope: String) -> CloudToken? {
    guard let kept = state.withLock({ $0.tokens[scope] }), let left = kept.token.timeLeft(at: clock.now()) else { return nil }
    if let askAgainAt = kept.askAgainAt { return left > .zero && clock.now() < askAgainAt ? kept.token : nil }
    return left >= minimumRemaining ? kept.token : nil
  }

  /// One of unknown life is not kept.
  private func kept(_ token: CloudToken) -> Kept? {
    guard let left = token.timeLeft(at: clock.now()) else { return nil }
    return Kept(token: token, askAgainAt: left >= minimumRemaining ? nil : clock.now().advanced(by: pause))
  }
}

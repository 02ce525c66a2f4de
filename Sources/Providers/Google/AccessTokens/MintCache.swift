public import EventLoop
public import OpenID
internal import Synchronization

/// Tokens of the cloud, shared by all callers on all loops until they have too little time left.
///
/// For each scope one token is asked for at a time, however many wait for it. Who stops waiting takes nothing from the others.
public final class MintCache: CloudTokenSource {
  private struct State {
    var tokens: [String: CloudToken] = [:]
    var flights: [String: SingleFlight<Result<CloudToken, MintError>>] = [:]
  }

  private let source: any CloudTokenSource
  private let minimumRemaining: Duration
  private let loop: EventLoop
  private let clock: ProviderClock
  private let state = Mutex(State())

  /// A cache before `source`.
  ///
  /// - Parameters:
  ///   - source: Who mints what is not there.
  ///   - minimumRemaining: A token with less time left is never handed out from the cache: a client that renews its own some
  ///     minutes ahead would be back at once.
  ///   - loop: Where minting runs that is caused by callers on no loop.
  ///   - clock: What tells how much time a token has left.
  public init(
    _ source: any CloudTokenSource, minimumRemaining: Duration = .seconds(600), on loop: EventLoop, clock: ProviderClock
  ) {
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
        if self.lasts(token) { self.state.withLock { $0.tokens[scope] = token } }
        return .success(token)
      } catch {
        return .failure(error)
      }
    }
    guard let outcome else { throw MintError(.cancelled) }
    return try outcome.get()
  }

  private func cached(_ scope: String) -> CloudToken? {
    state.withLock { $0.tokens[scope] }.flatMap { lasts($0) ? $0 : nil }
  }

  private func lasts(_ token: CloudToken) -> Bool {
    token.timeLeft(at: clock.now()).map { $0 >= minimumRemaining } ?? false
  }
}

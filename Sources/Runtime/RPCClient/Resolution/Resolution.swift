internal import EventLoop
internal import RPC
internal import Synchronization

/// Who is told the answers of a ``Resolution``, on its loop.
protocol ResolutionSubscriber: AnyObject, Sendable {
  var loop: EventLoop { get }
  func resolved(_ answer: Result<[SocketAddress], RPCError>)
}

/// What a channel knows of the addresses behind its target; shared by its loops.
///
/// The last good answer is kept until there is a better one: a query that fails or finds nothing changes nothing for those that
/// have addresses.
final class Resolution: Sendable {
  private struct State {
    var schedule: ResolutionSchedule
    var addresses: [SocketAddress]?
    var failure: RPCError?
    var subscribers: [Subscriber] = []
  }

  // SAFETY: the reference is written in `init` only; reading a weak reference is atomic.
  private struct Subscriber: @unchecked Sendable {
    weak var subscriber: (any ResolutionSubscriber)?
  }

  private let host: String
  private let port: UInt16
  private let resolver: any NameResolver
  private let answered: @Sendable (Result<[SocketAddress], RPCError>) -> Void
  private let state: Mutex<State>

  init(
    _ host: String, _ port: UInt16, _ resolver: any NameResolver, minimumInterval: Duration, backoff: ConnectionBackoff,
    answered: @escaping @Sendable (Result<[SocketAddress], RPCError>) -> Void
  ) {
    self.host = host
    self.port = port
    self.resolver = resolver
    self.answered = answered
    state = Mutex(State(schedule: ResolutionSchedule(minimumInterval: minimumInterval, backoff: backoff)))
  }

  /// The last good answer.
  var addresses: [SocketAddress]? { state.withLock { $0.addresses } }

  /// What went wrong, if the last query failed.
  var failure: RPCError? { state.withLock { $0.failure } }

  /// Has every further answer told to `subscriber` as long as it lives.
  func subscribe(_ subscriber: any ResolutionSubscriber) {
    state.withLock { $0.subscribers.append(Subscriber(subscriber: subscriber)) }
  }

  /// Asks for a new answer on behalf of somebody who missed one at `wish`. Called on `loop`.
  ///
  /// - Returns: When to ask again, if it is too early.
  func refresh(since wish: MonotonicInstant, on loop: EventLoop) -> MonotonicInstant? {
    switch state.withLock({ $0.schedule.wanted(since: wish, now: .now()) }) {
    case .served: return nil
    case .wait(let moment): return moment
    case .query:
      loop.spawn { await self.query() }
      return nil
    }
  }

  private func query() async {
    let answer: Result<[SocketAddress], RPCError>
    do {
      let addresses = try await resolver.addresses(of: host, port: port)
      answer = addresses.isEmpty ? .failure(failure("no address")) : .success(addresses)
    } catch {
      answer = .failure(failure("\(error)"))
    }
    let subscribers = state.withLock { state in
      switch answer {
      case .success(let addresses):
        state.schedule.succeeded(now: .now())
        state.addresses = addresses
        state.failure = nil
      case .failure(let error):
        state.schedule.failed(now: .now())
        state.failure = error
      }
      state.subscribers.removeAll { $0.subscriber == nil }
      return state.subscribers
    }
    answered(answer)
    for entry in subscribers {
      guard let subscriber = entry.subscriber else { continue }
      // Never from inside `refresh`, whose caller is not done with its own state.
      subscriber.loop.execute { subscriber.resolved(answer) }
    }
  }

  private func failure(_ message: String) -> RPCError { RPCError(.unavailable, "cannot resolve \(host): \(message)") }
}

internal import Synchronization

/// Whether the process serves, and who wants to know.
///
/// It serves while every condition holds: each is set by whoever watches it (the database, a key set that must be there, the
/// life cycle itself). Once it drains it never serves again.
public final class HealthStatus: Sendable {
  private struct State {
    var services: Set<String>
    var unmet: Set<String> = ["started"]
    var isDraining = false
    var watchers: [Int: AsyncStream<Bool>.Continuation] = [:]
    var nextWatcher = 0
    var isServing: Bool { unmet.isEmpty && !isDraining }
  }

  private let state: Mutex<State>

  /// Not serving until ``started()``.
  ///
  /// - Parameter services: The full names of the services that are served, where they are known already.
  public init(services: some Sequence<String> = []) { state = Mutex(State(services: Set(services))) }

  /// The full names of the services that are served.
  public var services: Set<String> { state.withLock { $0.services } }

  /// Says what is served, before anybody can ask: those who watch a service are not told that it came later.
  ///
  /// - Parameter services: The full names.
  public func serve(_ services: some Sequence<String>) { state.withLock { $0.services = Set(services) } }

  /// Whether the process serves.
  public var isServing: Bool { state.withLock { $0.isServing } }

  /// Whether the process is on its way out.
  public var isDraining: Bool { state.withLock { $0.isDraining } }

  /// What keeps it from serving, sorted; empty when it serves.
  public var reasons: [String] { state.withLock { ($0.isDraining ? ["draining"] : []) + $0.unmet.sorted() } }

  /// Says whether a condition holds. One that was never named holds.
  public func set(_ condition: String, holds: Bool) {
    change { state in
      if holds { state.unmet.remove(condition) } else { state.unmet.insert(condition) }
    }
  }

  /// The listeners are open and everything is built.
  public func started() { set("started", holds: true) }

  /// The process is about to stop.
  public func startDraining() { change { $0.isDraining = true } }

  /// Ends every watch: what is served last is the news that nothing is.
  public func finish() {
    let watchers = state.withLock { state in
      defer { state.watchers = [:] }
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.finish() }
  }

  /// Whether it serves, now and after every change; only the latest is kept for a slow reader.
  public func changes() -> AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextWatcher += 1
      state.watchers[state.nextWatcher] = continuation
      continuation.yield(state.isServing)
      return state.nextWatcher
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.watchers.removeValue(forKey: id) } }
    return stream
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      let before = state.isServing
      body(&state)
      guard state.isServing != before else { return }
      // Told under the lock, so that two changes cannot overtake each other.
      for watcher in state.watchers.values { watcher.yield(state.isServing) }
    }
  }
}

public import EventLoop
public import JOSE
public import Logging
internal import Synchronization
public import Telemetry

/// A provider's public keys, fetched when they are needed and shared by all loops.
///
/// - Fresh for as long as the server says (60 s to 24 h); the first who needs them afterwards fetches, all others wait for the
///   same fetch. Nothing runs in the background.
/// - When the fetch fails, the keys from before are used on, until they are 24 h old; the next attempt comes after a pause.
/// - A token whose key is unknown, or whose signature is not its key's, may cause a fetch ahead of time, at most one in 30 s.
/// - A key that the server withdraws is gone with the next fetch: the set is replaced whole.
public final class JWKSCache: Sendable {
  private struct State {
    var snapshot: KeySnapshot?
    var generation: UInt64 = 0
    var failuresInARow = 0
    /// After a failure: when to try again.
    var nextAttempt = MonotonicInstant(nanoseconds: 0)
    var lastForced: MonotonicInstant?
    var lastFailure = "never fetched"
    var fetches = 0
  }

  private let policy: KeyPolicy
  private let fetcher: KeyFetcher
  private let clock: ProviderClock
  private let log: Logger
  private let metrics: KeyMetrics
  private let flight: SingleFlight<Void>
  private let state = Mutex(State())

  /// A cache that has fetched nothing yet.
  ///
  /// - Parameters:
  ///   - source: Where the keys are.
  ///   - policy: How long keys hold, and how often they are fetched.
  ///   - http: The way out.
  ///   - loop: Where fetches run that are caused by callers on no loop.
  ///   - clock: What tells how old they are.
  ///   - log: Who is told of failed fetches.
  ///   - name: What the keys are called in metrics; by default by the host that they come from.
  ///   - registry: Who counts; by default nobody sees what is counted.
  public init(
    _ source: KeySource, policy: KeyPolicy = .init(), over http: any HTTPSending, on loop: EventLoop, clock: ProviderClock,
    log: Logger, named name: String? = nil, metrics registry: PrometheusRegistry = PrometheusRegistry()
  ) {
    self.policy = policy
    self.clock = clock
    self.log = log
    metrics = KeyMetrics(name ?? source.host, registry)
    fetcher = KeyFetcher(source, over: http, timeout: policy.timeout)
    flight = SingleFlight(on: loop)
  }

  /// Whether there are keys that may be used now, fresh or not.
  public var hasUsableKeys: Bool {
    let now = clock.now()
    return state.withLock { $0.snapshot.map { now < $0.usableUntil } ?? false }
  }

  /// Keys as they were fetched at one time.
  public struct KeySet: Sendable {
    /// The keys.
    public let keys: JWKSet
    /// Changes exactly when the document does.
    public let generation: UInt64

    init(_ snapshot: KeySnapshot) { (keys, generation) = (snapshot.keys, snapshot.generation) }
  }

  /// The generation of the keys, where they may be used and no fetch is due; else nil.
  public var generationAtHand: UInt64? {
    let now = clock.now()
    return state.withLock { state in
      guard let snapshot = state.snapshot, now < snapshot.usableUntil else { return nil }
      return now < snapshot.freshUntil || now < state.nextAttempt ? snapshot.generation : nil
    }
  }

  /// The keys to use now, fetched if a fetch is due.
  public func keySet() async throws(KeysError) -> KeySet { KeySet(try await current()) }

  /// Keys of another generation, fetched ahead of time if that is allowed now; nil when there are none.
  public func keySet(newerThan generation: UInt64) async throws(KeysError) -> KeySet? {
    let began = clock.now()
    let held = try await current()
    if held.generation != generation { return KeySet(held) }
    guard let newer = try await newer(than: began), newer.generation != generation else { return nil }
    return KeySet(newer)
  }

  /// For how long the keys should have been fetched again; zero while they are fresh, and before the first time.
  public var staleness: Duration {
    let now = clock.now()
    return state.withLock { max(.zero, $0.snapshot.map { now.duration(since: $0.freshUntil) } ?? .zero) }
  }

  /// How many fetches have failed since the last that succeeded.
  public var failuresInARow: Int { state.withLock { $0.failuresInARow } }

  /// How often the keys were asked for.
  public var fetchCount: Int { state.withLock { $0.fetches } }

  /// Makes sure that there are keys, fetching them if there are none.
  ///
  /// - Throws: ``KeysError``.
  public func warmUp() async throws(KeysError) { _ = try await current() }

  /// The keys to use now.
  func current() async throws(KeysError) -> KeySnapshot {
    if let snapshot = try settled(at: clock.now()) { return snapshot }
    let done: Void? = await flight.join { if self.isDue(at: self.clock.now()) { await self.fetch() } }
    guard done != nil else { throw KeysError(.cancelled) }
    let now = clock.now()
    return try state.withLock { state throws(KeysError) in
      guard let snapshot = state.snapshot, now < snapshot.usableUntil else {
        throw KeysError(.unavailable, detail: state.lastFailure)
      }
      // The fetch has failed, and they are the keys from before.
      if now >= snapshot.freshUntil { metrics.used(overdueBy: now.duration(since: snapshot.freshUntil)) }
      return snapshot
    }
  }

  /// Keys that were asked for after `began`, fetching them ahead of time if that is allowed now; nil when it is not, or when it
  /// failed.
  func newer(than began: MonotonicInstant) async throws(KeysError) -> KeySnapshot? {
    // A fetch that was under way already may have left before the key was published: then one more.
    for _ in 0..<2 {
      if let snapshot = snapshot(requestedSince: began) { return snapshot }
      guard mayForce(at: clock.now()) else { return nil }
      let done: Void? = await flight.join {
        let now = self.clock.now()
        let isAllowed = self.state.withLock { state in
          guard self.mayForce(state, at: now) else { return false }
          state.lastForced = now
          return true
        }
        if isAllowed { await self.fetch() }
      }
      guard done != nil else { throw KeysError(.cancelled) }
    }
    return snapshot(requestedSince: began)
  }

  // MARK: Deciding

  /// What needs no fetch: keys to use, or the certainty that there are none. Nil when a fetch is due.
  private func settled(at now: MonotonicInstant) throws(KeysError) -> KeySnapshot? {
    try state.withLock { state throws(KeysError) in
      if let snapshot = state.snapshot, now < snapshot.usableUntil {
        if now < snapshot.freshUntil { return snapshot }
        guard now < state.nextAttempt else { return nil }
        metrics.used(overdueBy: now.duration(since: snapshot.freshUntil))
        return snapshot
      }
      if now < state.nextAttempt { throw KeysError(.unavailable, detail: state.lastFailure) }
      return nil
    }
  }

  /// Whether a fetch is due: another one may have ended since somebody asked.
  private func isDue(at now: MonotonicInstant) -> Bool {
    state.withLock { state in
      guard now >= state.nextAttempt else { return false }
      return state.snapshot.map { now >= min($0.freshUntil, $0.usableUntil) } ?? true
    }
  }

  private func snapshot(requestedSince began: MonotonicInstant) -> KeySnapshot? {
    state.withLock { $0.snapshot.flatMap { $0.requestedAt >= began ? $0 : nil } }
  }

  private func mayForce(at now: MonotonicInstant) -> Bool { state.withLock { mayForce($0, at: now) } }

  private func mayForce(_ state: State, at now: MonotonicInstant) -> Bool {
    state.lastForced.map { now >= $0.advanced(by: policy.cooldown) } ?? true
  }

  // MARK: Fetching

  private func fetch() async {
    let requestedAt = clock.now()
    state.withLock { $0.fetches += 1 }
    do {
      let document = try await fetcher.fetch()
      adopt(document, requestedAt: requestedAt)
    } catch {
      fail(error.detail)
    }
  }

  private func adopt(_ document: KeyFetcher.Document, requestedAt: MonotonicInstant) {
    let now = clock.now()
    let hasChanged = state.withLock { state in
      let hasChanged = state.snapshot?.digest != document.digest
      if hasChanged { state.generation += 1 }
      state.snapshot = KeySnapshot(
        keys: document.keys, generation: state.generation, digest: document.digest, requestedAt: requestedAt,
        freshUntil: now.advanced(by: min(document.lifetime, policy.maximumAge)), usableUntil: now.advanced(by: policy.maximumAge))
      state.failuresInARow = 0
      state.nextAttempt = MonotonicInstant(nanoseconds: 0)
      return hasChanged
    }
    metrics.fetched()
    guard hasChanged else { return log.debug("keys unchanged", metadata: ["lifetime": "\(document.lifetime)"]) }
    log.info("keys fetched", metadata: ["count": "\(document.keys.keys.count)", "lifetime": "\(document.lifetime)"])
    for rejection in document.keys.rejections { log.warning("key not used", metadata: ["key": "\(rejection)"]) }
  }

  private func fail(_ detail: String) {
    let now = clock.now()
    let isEmpty = state.withLock { state in
      state.failuresInARow += 1
      state.lastFailure = detail
      let isEmpty = state.snapshot.map { now >= $0.usableUntil } ?? true
      // Without keys nobody gets in: soon, then less often. With keys from before there is time.
      let pause = isEmpty ? min(.seconds(1 << min(state.failuresInARow - 1, 5)), policy.cooldown) : policy.cooldown
      state.nextAttempt = now.advanced(by: pause)
      return isEmpty
    }
    metrics.failed()
    log.error("keys not fetched", metadata: ["error": "\(detail)", "in_use": isEmpty ? "none" : "the keys from before"])
  }
}

internal import EventLoop
internal import HTTP2
internal import MessagesWire
internal import RPC
internal import RPCWire
internal import Synchronization

/// A channel's share of one loop: its connections, and who waits for one.
///
/// Idle until a call needs it. Then it looks for addresses and connects, to the first that serves or to all of them. While none
/// serves, calls fail at once with what went wrong, unless they asked to wait for a connection.
// SAFETY: made on any thread and then used on its loop only, but for `state`.
final class ClientLoop: ResolutionSubscriber, @unchecked Sendable {
  let loop: EventLoop
  let context: ClientChannelContext
  /// Made by the first call: a channel has a share of every loop, and most are called from one.
  private(set) lazy var resources = HTTP2LoopResources(loop, limits: context.configuration.http2)
  private(set) lazy var coding = MessageCoding(
    MessageDecoder(), MessageEncoder(), registry: context.configuration.registry, ignoresUnknownFields: true)
  /// The keepalive time as servers have let it be so far.
  private(set) var keepaliveTime: Duration?

  private var connectors: [Connector] = []
  /// What calls are spread over.
  private var ready: [ClientConnection] = []
  private var next = 0
  private var waiters: [ConnectionWaiter] = []
  private var isAwake = false
  private(set) var isClosed = false
  /// Why there are no addresses; nil while there are, or while they are being looked for.
  private var resolutionFailure: RPCError?
  private let resolutionTimer = LoopTimer()
  private let refreshTimer = LoopTimer()
  private var lastCall = MonotonicInstant(nanoseconds: 0)
  private let idleTimer = LoopTimer()
  private let published = Atomic(ChannelState.idle.rawValue)

  var target: ChannelTarget { context.target }
  var configuration: ClientChannelConfiguration { context.configuration }

  init(_ loop: EventLoop, _ context: ClientChannelContext) {
    self.loop = loop
    self.context = context
    keepaliveTime = context.configuration.keepalive.effectiveTime
    next = Int.random(in: 0..<1_000)
    context.resolution?.subscribe(self)
  }

  /// What it is doing. May be asked from any thread.
  var state: ChannelState { ChannelState(rawValue: published.load(ordering: .relaxed)) ?? .idle }

  /// The connection to call on, made if there is none.
  func connection(waitsForReady: Bool, deadline: Deadline?) async throws(RPCError) -> HTTP2Connection {
    if let connection = pick() { return connection }
    guard !isClosed else { throw Self.closed }
    wake()
    if let failure, !waitsForReady { throw failure }
    let waiter = ConnectionWaiter(on: loop, waitsForReady: waitsForReady)
    waiters.append(waiter)
    return try await waiter.wait(until: deadline)
  }

  /// Gives up a connection that takes no more calls: its stream identifiers are used up.
  func connectionIsExhausted(_ connection: HTTP2Connection) {
    guard let guardian = ready.first(where: { $0.http2 === connection }) else { return }
    guardian.connectionIsDraining(connection)
  }

  func close() {
    isClosed = true
    rest()
    tellWaiters { $0.fail(Self.closed) }
  }

  private static var closed: RPCError { RPCError(.unavailable, "the channel is closed") }

  // MARK: Choosing

  private func pick() -> HTTP2Connection? {
    guard !ready.isEmpty else { return nil }
    if next >= ready.count { next = 0 }
    let chosen = ready[next]
    next += 1
    if configuration.idleTimeout != nil { lastCall = loop.now }
    return chosen.forCall()
  }

  /// Why a call fails now; nil while there is hope.
  private var failure: RPCError? {
    guard !connectors.isEmpty else { return resolutionFailure }
    var last: RPCError?
    for connector in connectors {
      guard case .failed(let error) = connector.state else { return nil }
      last = error
    }
    return last
  }

  // MARK: Waking and resting

  /// Looks for addresses and connects, as far as that is not under way.
  private func wake() {
    if !isAwake {
      isAwake = true
      armIdleTimer()
      if let addresses = target.fixedAddresses ?? context.resolution?.addresses { apply(addresses) }
      refreshAddresses()
    } else if connectors.isEmpty {
      refreshAddresses()
    }
    for connector in connectors { connector.connect() }
    publish()
  }

  /// Gives all connections up; those with calls end with the last of them.
  private func rest() {
    isAwake = false
    for timer in [resolutionTimer, refreshTimer, idleTimer] { loop.disarm(timer) }
    let given = connectors
    connectors = []
    ready = []
    resolutionFailure = nil
    for connector in given { connector.shutDown() }
    publish()
  }

  private func armIdleTimer() {
    guard let timeout = configuration.idleTimeout else { return }
    lastCall = loop.now
    idleTimer.onFire = { [unowned self] in
      let isBusy = !waiters.isEmpty || ready.contains { $0.hasCalls }
      let idleSince = loop.now.duration(since: lastCall)
      if !isBusy && idleSince >= timeout { return rest() }
      loop.arm(idleTimer, after: isBusy || idleSince >= timeout ? timeout : timeout - idleSince)
    }
    loop.arm(idleTimer, after: timeout)
  }

  // MARK: Addresses

  /// Has the target's name looked up again, as soon as that is allowed.
  func refreshAddresses() {
    guard isAwake, context.resolution != nil, !refreshTimer.isArmed else { return }
    refresh(since: .now())
  }

  private func refresh(since wish: MonotonicInstant) {
    if let moment = context.resolution?.refresh(since: wish, on: loop) {
      if connectors.isEmpty && resolutionFailure == nil { resolutionFailure = context.resolution?.failure }
      refreshTimer.onFire = { [unowned self] in refresh(since: wish) }
      loop.arm(refreshTimer, at: moment)
    } else if connectors.isEmpty && !resolutionTimer.isArmed {
      resolutionFailure = nil
      resolutionTimer.onFire = { [unowned self] in
        resolutionFailed(RPCError(.unavailable, "cannot resolve \(target): no answer within \(configuration.connectTimeout)"))
      }
      loop.arm(resolutionTimer, after: configuration.connectTimeout)
    }
  }

  func resolved(_ answer: Result<[SocketAddress], RPCError>) {
    guard isAwake else { return }
    loop.disarm(resolutionTimer)
    loop.disarm(refreshTimer)
    switch answer {
    case .success(let addresses):
      apply(addresses)
      // Round robin connects by itself; pick first on demand.
      if !waiters.isEmpty || context.loadBalancing == .roundRobin { for connector in connectors { connector.connect() } }
      connectorsChanged()
    case .failure(let error):
      guard connectors.isEmpty else { return }
      resolutionFailed(error)
      if !waiters.isEmpty { refreshAddresses() }
    }
  }

  private func resolutionFailed(_ error: RPCError) {
    resolutionFailure = error
    connectorsChanged()
  }

  /// Makes connectors for new addresses, keeps those that remain and ends the others.
  private func apply(_ addresses: [SocketAddress]) {
    resolutionFailure = addresses.isEmpty ? RPCError(.unavailable, "\(target) has no address") : nil
    var seen: Set<SocketAddress> = []
    let addresses = addresses.filter { seen.insert($0).inserted }
    switch context.loadBalancing {
    case .pickFirst(let isShuffled):
      guard let connector = connectors.first else {
        return connectors = [Connector(isShuffled ? addresses.shuffled() : addresses, for: self)]
      }
      // A new order alone is no reason to change anything.
      if Set(connector.addresses) != seen { connector.update(isShuffled ? addresses.shuffled() : addresses) }
    case .roundRobin:
      let gone = connectors.filter { !seen.contains($0.addresses[0]) }
      connectors.removeAll { connector in gone.contains { $0 === connector } }
      let kept = Set(connectors.map { $0.addresses[0] })
      for address in addresses where !kept.contains(address) { connectors.append(Connector([address], for: self)) }
      for connector in gone { connector.shutDown() }
    }
  }

  // MARK: The connectors' events

  func connectorChanged(_ connector: Connector) { if isAwake { connectorsChanged() } }

  /// A connector that failed may be asked again.
  func connectorRested(_ connector: Connector) {
    guard isAwake else { return }
    if !waiters.isEmpty || context.loadBalancing == .roundRobin { connector.connect() }
    connectorsChanged()
  }

  private func connectorsChanged() {
    ready = connectors.compactMap { if case .ready(let connection) = $0.state { connection } else { nil } }
    publish()
    guard !waiters.isEmpty else { return }
    let failure = failure
    tellWaiters { waiter in
      if let connection = pick() {
        waiter.succeed(connection)
      } else if let failure, !waiter.waitsForReady {
        waiter.fail(failure)
      }
    }
    // Whoever still waits needs those that were let go.
    if failure == nil && ready.isEmpty && !waiters.isEmpty { for connector in connectors { connector.connect() } }
  }

  private func tellWaiters(_ body: (ConnectionWaiter) -> Void) {
    let told = waiters
    waiters = []
    for waiter in told { body(waiter) }
    waiters.insert(contentsOf: told.filter { !$0.isDone }, at: 0)
  }

  private func publish() {
    let state: ChannelState =
      if isClosed { .closed } else if !isAwake { .idle } else if !ready.isEmpty { .ready } else if failure != nil {
        .failing
      } else if connectors.contains(where: { if case .connecting = $0.state { true } else { false } }) || connectors.isEmpty {
        .connecting
      } else {
        .idle
      }
    guard state != self.state else { return }
    published.store(state.rawValue, ordering: .relaxed)
    configuration.events.stateChanged(state, state == .failing ? failure : nil)
  }

  // MARK: Keepalive

  /// A server said that it is asked too often: gRFC A8.
  func slowKeepalive() {
    guard let time = keepaliveTime else { return }
    keepaliveTime = time * 2
    configuration.events.keepaliveSlowed(time * 2)
  }
}

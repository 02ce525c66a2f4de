internal import EventLoop
internal import HTTP2
internal import RPC

/// Keeps one connection to the first of some addresses that serves, as often as it is lost and asked for again.
///
/// An attempt tries the addresses in order, each a little later than the one before while none has answered, and takes the first
/// that gets through its handshakes. When all fail it rests, longer each time, before it may be asked again.
// SAFETY: used on its loop only.
final class Connector: @unchecked Sendable {
  enum State {
    case idle
    case connecting
    case ready(ClientConnection)
    case failed(RPCError)
  }

  unowned let owner: ClientLoop
  private(set) var state = State.idle
  private(set) var addresses: [SocketAddress]
  private var untried: [SocketAddress] = []
  private var attempts: [ClientConnection] = []
  private var lastFailure = ""
  private var failures = 0
  private var began = MonotonicInstant(nanoseconds: 0)
  private var loop: EventLoop { owner.loop }
  private var configuration: ClientChannelConfiguration { owner.configuration }
  /// Ends the attempt, or the rest after it.
  private let timer = LoopTimer()
  /// Starts the next address beside those that have not answered.
  private let impatience = LoopTimer()

  init(_ addresses: [SocketAddress], for owner: ClientLoop) {
    self.addresses = addresses
    self.owner = owner
    impatience.onFire = { [unowned self] in tryNextAddress() }
  }

  /// Begins an attempt, if none is under way and no rest is due.
  func connect() {
    guard case .idle = state else { return }
    state = .connecting
    untried = addresses
    lastFailure = "no address"
    began = loop.now
    timer.onFire = { [unowned self] in failed("no connection within \(configuration.connectTimeout)") }
    loop.arm(timer, after: configuration.connectTimeout)
    tryNextAddress()
  }

  /// Gives everything up; a connection with calls ends with the last of them.
  func shutDown() {
    loop.disarm(timer)
    let last = state
    state = .idle
    abandonAttempts()
    if case .ready(let connection) = last { connection.retire() }
  }

  /// Goes on with other addresses. A connection or an attempt to one that remains is kept.
  func update(_ addresses: [SocketAddress]) {
    guard addresses != self.addresses else { return }
    let known = self.addresses
    self.addresses = addresses
    switch state {
    case .idle: break
    case .ready(let connection):
      guard !addresses.contains(connection.address) else { return }
      state = .idle
      connection.retire()
      owner.connectorChanged(self)
    case .connecting:
      untried = untried.filter(addresses.contains) + addresses.filter { !known.contains($0) }
      for attempt in attempts where !addresses.contains(attempt.address) { attempt.close() }
      if attempts.isEmpty, case .connecting = state { tryNextAddress() }
    case .failed:
      failures = 0
      rested()
    }
  }

  // MARK: An attempt

  private func tryNextAddress() {
    while !untried.isEmpty {
      let address = untried.removeFirst()
      do {
        attempts.append(try ClientConnection.open(to: address, for: self))
        if !untried.isEmpty { loop.arm(impatience, after: configuration.attemptDelay) }
        return
      } catch {
        lastFailure = "\(error)"
      }
    }
    if attempts.isEmpty { failed(lastFailure) }
  }

  private func failed(_ message: String) {
    failures += 1
    let error = RPCError(.unavailable, "cannot connect to \(owner.target): \(message)")
    state = .failed(error)
    abandonAttempts()
    timer.onFire = { [unowned self] in rested() }
    loop.arm(timer, after: configuration.backoff.delay(after: failures))
    owner.connectorChanged(self)
    owner.refreshAddresses()
  }

  private func rested() {
    loop.disarm(timer)
    state = .idle
    owner.connectorRested(self)
  }

  private func abandonAttempts() {
    loop.disarm(impatience)
    untried = []
    let lost = attempts
    attempts = []
    for attempt in lost { attempt.close() }
  }

  // MARK: The connections' events

  func becameReady(_ connection: ClientConnection) {
    guard let index = attempts.firstIndex(where: { $0 === connection }) else { return connection.close() }
    attempts.remove(at: index)
    abandonAttempts()
    loop.disarm(timer)
    failures = 0
    state = .ready(connection)
    owner.connectorChanged(self)
  }

  func ended(_ connection: ClientConnection, _ error: HTTP2Error?) {
    guard let index = attempts.firstIndex(where: { $0 === connection }) else { return lost(connection) }
    attempts.remove(at: index)
    lastFailure = error?.message ?? "the peer closed the connection"
    loop.disarm(impatience)
    tryNextAddress()
  }

  /// The connection takes no more calls.
  func lost(_ connection: ClientConnection) {
    guard case .ready(let current) = state, current === connection else { return }
    state = .idle
    owner.connectorChanged(self)
    owner.refreshAddresses()
    // A server that accepts and hangs up must not be met with a new connection at once, again and again.
    let earliest = began.advanced(by: configuration.backoff.initial)
    guard loop.now < earliest else { return rested() }
    timer.onFire = { [unowned self] in rested() }
    loop.arm(timer, at: earliest)
  }
}

internal import EventLoop
internal import HTTP2
internal import RPC

/// A channel's share of one loop: its connection, and who waits for it.
///
/// Idle until a call needs it, then connecting, then ready; after a failure it waits, longer each time, before the next try.
/// While it waits, calls fail at once with what went wrong, unless they asked to wait for a connection.
// SAFETY: made on any thread and then used on its loop only.
final class ClientLoop: HTTP2ConnectionDelegate, @unchecked Sendable {
  enum State {
    case idle
    case connecting
    case ready(HTTP2Connection)
    case failed(RPCError)
    case closed
  }

  let loop: EventLoop
  let target: ChannelTarget
  let configuration: ClientChannelConfiguration
  let coding: MessageCoding
  private let blocking: BlockingPool
  private let resources: HTTP2LoopResources
  private var state = State.idle
  private var failures = 0
  private var addresses: ArraySlice<SocketAddress> = []
  private var attempt: HTTP2Connection?
  private var retiring: [ObjectIdentifier: HTTP2Connection] = [:]
  private var waiters: [ConnectionWaiter] = []
  private let timer = LoopTimer()

  init(_ loop: EventLoop, target: ChannelTarget, blocking: BlockingPool, configuration: ClientChannelConfiguration) {
    self.loop = loop
    self.target = target
    self.blocking = blocking
    self.configuration = configuration
    coding = MessageCoding(configuration)
    resources = HTTP2LoopResources(loop, limits: configuration.http2)
  }

  /// The connection to call on, made if there is none.
  func connection(_ options: CallOptions, deadline: Deadline?) async throws(RPCError) -> HTTP2Connection {
    switch state {
    case .ready(let connection): return connection
    case .closed: throw RPCError(.unavailable, "the channel is closed")
    case .failed(let error): if !options.waitsForReady { throw error }
    case .idle: connect()
    case .connecting: break
    }
    // The attempt may have failed at once.
    if case .failed(let error) = state, !options.waitsForReady { throw error }
    let waiter = ConnectionWaiter(on: loop, waitsForReady: options.waitsForReady)
    waiters.append(waiter)
    return try await waiter.wait(until: deadline)
  }

  func close() {
    if case .ready(let connection) = state { retire(connection) }
    state = .closed
    loop.disarm(timer)
    attempt?.close()
    attempt = nil
    tellWaiters { $0.fail(RPCError(.unavailable, "the channel is closed")) }
  }

  // MARK: Connecting

  private func connect() {
    state = .connecting
    timer.onFire = { [unowned self] in failed("no connection within \(configuration.connectTimeout)") }
    loop.arm(timer, after: configuration.connectTimeout)
    switch target {
    case .unix(let path):
      addresses = [SocketAddress(.unix(path: path))]
      tryNextAddress("")
    case .host(let host, let port):
      if let address = SocketAddress(ip: host, port: port) {
        addresses = [address]
        tryNextAddress("")
      } else {
        loop.spawn { await self.resolve(host, port) }
      }
    }
  }

  private func resolve(_ host: String, _ port: UInt16) async {
    do {
      addresses = try await blocking.run { try SocketAddress.resolve(host: host, port: port) }[...]
      if case .connecting = state { tryNextAddress("") }
    } catch {
      if case .connecting = state { failed("\(error)") }
    }
  }

  /// Tries the addresses in the resolver's order, until one serves.
  private func tryNextAddress(_ lastFailure: String) {
    guard let address = addresses.popFirst() else { return failed(lastFailure) }
    do {
      attempt = try HTTP2Connection.connect(
        to: address, tls: configuration.tls, serverName: target.serverName, resources: resources, delegate: self)
    } catch {
      tryNextAddress("\(error)")
    }
  }

  private func failed(_ message: String) {
    failures += 1
    let lost = attempt
    attempt = nil
    addresses = []
    let error = RPCError(.unavailable, "cannot connect to \(target): \(message)")
    state = .failed(error)
    lost?.close()
    tellWaiters { if !$0.waitsForReady { $0.fail(error) } }
    timer.onFire = { [unowned self] in
      state = .idle
      if !waiters.isEmpty { connect() }
    }
    loop.arm(timer, after: configuration.backoff.delay(after: failures))
  }

  private func tellWaiters(_ body: (ConnectionWaiter) -> Void) {
    for waiter in waiters { body(waiter) }
    waiters.removeAll { $0.isDone }
  }

  // MARK: The connection's events

  func connectionIsReady(_ connection: HTTP2Connection) {
    guard connection === attempt else { return connection.close() }
    attempt = nil
    failures = 0
    addresses = []
    loop.disarm(timer)
    state = .ready(connection)
    tellWaiters { $0.succeed(connection) }
  }

  func connection(_ connection: HTTP2Connection, opened stream: HTTP2Stream) { stream.reset(.refusedStream) }

  func connectionIsDraining(_ connection: HTTP2Connection) {
    guard case .ready(let current) = state, current === connection else { return }
    state = .idle
    retire(connection)
  }

  func connectionClosed(_ connection: HTTP2Connection, _ error: HTTP2Error?) {
    retiring[ObjectIdentifier(connection)] = nil
    if connection === attempt {
      attempt = nil
      let message = error?.message ?? "the peer closed the connection"
      tryNextAddress(message)
    } else if case .ready(let current) = state, current === connection {
      state = .idle
    }
  }

  /// Gives up a connection that takes no more calls: its stream identifiers are used up.
  func connectionIsExhausted(_ connection: HTTP2Connection) { connectionIsDraining(connection) }

  /// Lets a connection end with its last call.
  private func retire(_ connection: HTTP2Connection) {
    retiring[ObjectIdentifier(connection)] = connection
    connection.drain()
  }
}

internal import EventLoop
internal import HTTP2

/// One connection of a channel, from the attempt to its end, and the keepalive that watches over it.
///
/// It lives as long as its HTTP/2 connection, also when its connector has given it up and its last calls end.
// SAFETY: used on its loop only.
final class ClientConnection: HTTP2ConnectionDelegate, @unchecked Sendable {
  /// Where it leads.
  let address: SocketAddress
  private(set) var http2: HTTP2Connection?
  private weak var connector: Connector?
  private let loop: EventLoop
  private let configuration: ClientChannelConfiguration
  private var keepalive: Keepalive?
  private var wasReady = false
  private let timer = LoopTimer()

  private init(_ address: SocketAddress, for connector: Connector) {
    self.address = address
    self.connector = connector
    loop = connector.owner.loop
    configuration = connector.owner.configuration
  }

  /// Begins to connect; the connector is told how it ends.
  static func open(to address: SocketAddress, for connector: Connector) throws -> ClientConnection {
    let made = ClientConnection(address, for: connector)
    let owner = connector.owner
    let http2 = try HTTP2Connection.connect(
      to: address, tls: made.configuration.tls, serverName: owner.target.serverName, resources: owner.resources, delegate: made)
    made.http2 = http2
    // The connection keeps its guardian; `connectionClosed` breaks the circle.
    http2.attachment = made
    return made
  }

  /// Whether a call is open.
  var hasCalls: Bool { http2?.streams.isEmpty == false }

  /// The connection for a call that begins now.
  @inline(__always)
  func forCall() -> HTTP2Connection? {
    if keepalive?.isAsleep == true { look(hasCalls: true) }
    return http2
  }

  /// Takes no new calls and ends with the last one.
  func retire() { http2?.drain() }

  /// Ends at once.
  func close() { http2?.close() }

  // MARK: Keepalive

  private func look(hasCalls: Bool) {
    guard let http2, let action = keepalive?.look(now: loop.now, heard: http2.lastActivity, hasCalls: hasCalls) else { return }
    switch action {
    case .sleep: break
    case .wait(let moment): loop.arm(timer, at: moment)
    case .ping(let moment):
      http2.ping { _ in }
      loop.arm(timer, at: moment)
    case .close: http2.close(HTTP2Error(.connectionClosed, "keepalive timed out"))
    }
  }

  // MARK: The connection's events

  func connectionIsReady(_ connection: HTTP2Connection) {
    wasReady = true
    configuration.events.connectionOpened(address)
    if let time = connector?.owner.keepaliveTime {
      keepalive = Keepalive(configuration.keepalive, time: time)
      timer.onFire = { [unowned self] in look(hasCalls: hasCalls) }
      look(hasCalls: false)
    }
    connector?.becameReady(self)
  }

  func connection(_ connection: HTTP2Connection, opened stream: HTTP2Stream) { stream.reset(.refusedStream) }

  func connectionIsDraining(_ connection: HTTP2Connection) {
    if connection.goaway?.isTooManyPings == true { connector?.owner.slowKeepalive() }
    connector?.lost(self)
    retire()
  }

  func connectionClosed(_ connection: HTTP2Connection, _ error: HTTP2Error?) {
    loop.disarm(timer)
    http2 = nil
    connection.attachment = nil
    if wasReady { configuration.events.connectionClosed(address, error) }
    connector?.ended(self, error)
  }
}

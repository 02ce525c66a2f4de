public import EventLoop
public import HTTP2
public import RPC
internal import Synchronization

/// A server of RPCs and plain HTTP routes over HTTP/2, on all loops of a group.
///
/// Methods, routes and interceptors are given once; then it listens on any number of addresses, in clear text or TLS, until it
/// is drained.
public final class RPCServer: Sendable {
  let group: EventLoopGroup
  let loops: [ServerLoop]
  private let listeners = Mutex<[Listener]>([])
  private let gate: AcceptGate
  private let rooms: LargeRooms
  private let events: RPCServerEvents

  /// A server that does not listen yet.
  ///
  /// - Parameters:
  ///   - group: The loops that connections are spread over.
  ///   - services: What is served; two services of one name are a programmer's mistake.
  ///   - interceptors: What every call passes, outermost first.
  ///   - http: Plain HTTP routes by path.
  ///   - fallback: What answers plain HTTP requests for any other path; by default with 404.
  ///   - configuration: Limits and what is spoken.
  ///   - events: Who is told what happens.
  public init(
    on group: EventLoopGroup, services: [ServiceRoutes], interceptors: [any ServerInterceptor] = [], http: [HTTPRoute] = [],
    fallback: HTTPRoute.Handler? = nil, configuration: RPCServerConfiguration = .init(), events: RPCServerEvents = .init()
  ) {
    self.group = group
    // Who only looks on needs no frame around each call; the outermost sees what all others decide.
    let observer = interceptors.first?.observer
    let inner = observer == nil ? interceptors : Array(interceptors.dropFirst())
    let usual = configuration.maximumRequestBytes
    let rooms = LargeRooms(
      services.flatMap(\.methods).compactMap { $0.requestLimit.map { ($0.room, $0.bytes) } }
        + http.compactMap { route in route.maximumBodyBytes.map { (route.room, $0) } }, configuration)
    let methods = services.flatMap(\.methods).map { route in
      RouteEntry(
        route.method.path, .rpc(ServedMethod(route.intercepted(by: inner), maximumRequestBytes: usual, rooms)))
    }
    let routes = RouteTable(methods + http.map { RouteEntry($0.path, .http($0), room: rooms[$0.room]) })
    let gate = AcceptGate(configuration.accept)
    let budgets = ServerBudgets(configuration)
    self.gate = gate
    self.rooms = rooms
    self.events = events
    loops = group.loops.map {
      ServerLoop(
        $0, routes: routes, fallback: fallback, observer: observer, refusals: interceptors.first?.refusalObserver,
        configuration: configuration, events: events, budgets: budgets, gate: gate)
    }
  }

  /// Listens on one more address.
  ///
  /// - Parameters:
  ///   - address: Where; port 0 lets the system choose.
  ///   - tls: How connections there are encrypted; nil for clear text.
  ///   - unixAccess: Who may connect, when the address is a Unix socket.
  /// - Returns: The address, with the port that the system chose when it was asked for port 0.
  @discardableResult
  public func listen(
    on address: SocketAddress, tls: TLSContext? = nil, unixAccess: UnixSocketAccess = .init()
  ) throws(EventLoopError) -> SocketAddress {
    try listen(on: address, renewing: tls.map { TLSContextSource($0) }, unixAccess: unixAccess)
  }

  /// Listens on one more address, with a certificate that may be renewed: each connection begins with the source's current one.
  @discardableResult
  public func listen(
    on address: SocketAddress, renewing tls: TLSContextSource?, unixAccess: UnixSocketAccess = .init()
  ) throws(EventLoopError) -> SocketAddress {
    start(
      try Listener(
        on: address, group: group, unixAccess: unixAccess, gate: gate, onRefuse: events.connectionsRefused,
        onAccept: acceptor(tls)))
  }

  /// Listens on a socket that another process has opened (systemd's socket activation).
  @discardableResult
  public func listen(inheriting descriptor: Int32, renewing tls: TLSContextSource? = nil) throws(EventLoopError) -> SocketAddress
  {
    start(
      try Listener(
        inheriting: descriptor, group: group, gate: gate, onRefuse: events.connectionsRefused, onAccept: acceptor(tls)))
  }

  /// Serves a connection whose socket is open already, on the loop of the group that calls. The descriptor is the server's to close.
  package func serve(_ descriptor: Int32, from peer: SocketAddress, tls: TLSContext? = nil) {
    guard let server = loops.first(where: { $0.loop.isCurrent }) else { preconditionFailure("called off the server's loops") }
    server.loop.takeLoad()
    server.serve(descriptor, from: peer, tls: tls)
  }

  /// The bytes of large requests that are let in, and how many wait for their turn. May be asked for on any thread.
  public var largeRequests: (bytes: Int, waiting: Int) { rooms.usage }

  /// Whose handler keeps `loop` busy, as far as it is known. May be called from any thread.
  public func handler(on loop: EventLoop) -> HandlerTrace? { loops.first { $0.loop === loop }?.running.trace(loop.pulse) }

  /// Stops without losing a call: no new connections, GOAWAY on all others, and then waits until the last call is answered.
  ///
  /// - Parameter limit: How long calls may take; what is left then is cut off.
  public func drain(within limit: Duration) async {
    let open = listeners.withLock { listeners in
      defer { listeners = [] }
      return listeners
    }
    for listener in open { listener.close() }
    await withTaskGroup(of: Void.self) { tasks in
      for server in loops {
        tasks.addTask(executorPreference: server.loop) {
          let cut = server.loop.spawn { if (try? await server.loop.sleep(for: limit)) != nil { server.closeAll() } }
          await server.drain()
          cut.cancel()
        }
      }
    }
  }

  /// What the connections of each loop have lived through, in the order of the group's loops.
  public func http2Statistics() async -> [HTTP2Statistics] {
    var statistics: [HTTP2Statistics] = []
    for server in loops { statistics.append(await server.loop.visit { server.resources.statistics }) }
    return statistics
  }

  private func start(_ listener: Listener) -> SocketAddress {
    listeners.withLock { $0.append(listener) }
    listener.start()
    return listener.address
  }

  private func acceptor(_ tls: TLSContextSource?) -> Listener.Accepted {
    let byLoop = Dictionary(uniqueKeysWithValues: loops.map { (ObjectIdentifier($0.loop), $0) })
    return { descriptor, peer, loop in byLoop[ObjectIdentifier(loop)]?.serve(descriptor, from: peer, tls: tls?.current) }
  }
}

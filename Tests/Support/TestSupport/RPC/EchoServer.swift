public import EventLoop
public import HTTP2
public import RPC
public import RPCClient
public import RPCServer
internal import Synchronization
public import TestAPI

/// The echo service on a real socket, on loops of its own, for as long as one test needs it.
public final class EchoServer: Sendable {
  /// The loops that serve.
  public let group: EventLoopGroup
  /// Where it listens.
  public let address: SocketAddress
  /// What its handlers live through.
  public let handlers: EchoHandlers
  /// Open connections.
  public let connections = Tally("open connections")
  /// The server itself.
  public let server: RPCServer
  /// The certificate of the authority that signed the server's own, when it speaks TLS.
  public let authority: [UInt8]?
  private let record: Record

  /// Unexpected errors as the server's owner sees them.
  public struct Incident: Sendable {
    /// What the caller was told.
    public let id: String
    /// What happened.
    public let error: any Error
  }

  private final class Record: Sendable {
    let incidents = Mutex<[Incident]>([])
    let failures = Mutex<[HTTP2Error]>([])
    let shed = Mutex<[ShedReason]>([])
    let refusals = Mutex<[AcceptRefusals]>([])
  }

  /// Unexpected errors so far.
  public var incidents: [Incident] { record.incidents.withLock { $0 } }
  /// Calls that were turned away because too much was going on, so far.
  public var shed: [ShedReason] { record.shed.withLock { $0 } }
  /// What the server told of connections that it closed at once, so far.
  public var refusals: [AcceptRefusals] { record.refusals.withLock { $0 } }
  /// How many those were.
  public let refused = Tally("connections refused")
  /// Connections that ended in an error, so far.
  public var failures: [HTTP2Error] { record.failures.withLock { $0 } }

  /// Starts to serve on a port that the system chooses.
  ///
  /// - Parameters:
  ///   - loops: How many loops serve.
  ///   - tls: Whether to encrypt, with a certificate of a fresh authority.
  ///   - echoLimit: How large requests of `Echo` may be; nil for what holds for all.
  public static func start(
    loops: Int = 1, tls: Bool = false, on address: String = "127.0.0.1:0", handlers: EchoHandlers = EchoHandlers(),
    interceptors: [any ServerInterceptor] = [], http: [HTTPRoute] = [], fallback: HTTPRoute.Handler? = nil,
    configuration: RPCServerConfiguration = .init(), echoLimit: RequestLimit? = nil
  ) throws -> EchoServer {
    try EchoServer(loops, tls, address, handlers, interceptors, http, fallback, configuration, echoLimit)
  }

  private init(
    _ loops: Int, _ tls: Bool, _ address: String, _ handlers: EchoHandlers, _ interceptors: [any ServerInterceptor],
    _ http: [HTTPRoute], _ fallback: HTTPRoute.Handler?, _ configuration: RPCServerConfiguration, _ echoLimit: RequestLimit?
  ) throws {
    let record = Record()
    let (connections, refused) = (connections, refused)
    var events = RPCServerEvents()
    events.connectionsChanged = { connections.add($0) }
    events.connectionFailed = { _, error in record.failures.withLock { $0.append(error) } }
    events.callShed = { reason in record.shed.withLock { $0.append(reason) } }
    events.connectionsRefused = { refusals in
      record.refusals.withLock { $0.append(refusals) }
      refused.add(refusals.count)
    }
    events.unexpectedError = { _, error, id in record.incidents.withLock { $0.append(.init(id: id, error: error)) } }
    events.unexpectedHTTPError = { _, error, id in record.incidents.withLock { $0.append(.init(id: id, error: error)) } }
    group = try EventLoopGroup(count: loops, name: "echo")
    let routes = EchoService.routes(handlers)
    server = RPCServer(
      on: group, services: [echoLimit.map { routes.limiting("Echo", to: $0) } ?? routes].withReflection(),
      interceptors: interceptors, http: http,
      fallback: fallback, configuration: configuration, events: events)
    var context: TLSContext?
    if tls {
      let root = TestAuthority()
      let leaf = root.server()
      context = try TLSContext(
        .server(identity: .init(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(leaf.privateKey))))
      authority = root.certificate
    } else {
      authority = nil
    }
    self.record = record
    self.handlers = handlers
    self.address = try server.listen(on: SocketAddress(address), tls: context)
  }

  /// The port that it listens on.
  public var port: UInt16 { address.port ?? 0 }

  /// A channel to this server, in TLS when it speaks TLS.
  public func channel(on group: EventLoopGroup, configuration: ClientChannelConfiguration = .init()) throws -> ClientChannel {
    var configuration = configuration
    if let authority { configuration.tls = try TLSContext(.client(trustRoots: .certificates(.bytes(authority)))) }
    let target: ChannelTarget =
      switch address.kind {
      case .unix(let path): .unix(path: path)
      default: .host("127.0.0.1", port: port)
      }
    return ClientChannel(to: target, on: group, configuration: configuration)
  }

  /// Waits until so many bytes of large requests are let in, and so many requests wait for their turn; nil: whatever there is.
  public func awaitLargeRequests(bytes: Int? = nil, waiting: Int? = nil) async throws {
    for _ in 0..<1_000 {
      let now = server.largeRequests
      if bytes ?? now.bytes == now.bytes && waiting ?? now.waiting == now.waiting { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw TimedOut("\(bytes ?? -1) bytes of large requests and \(waiting ?? -1) that wait, not \(server.largeRequests)")
  }

  /// Drains and ends the loops. Afterwards no connection is open; whoever finds one throws.
  public func stop(within limit: Duration = .seconds(10)) async throws {
    await server.drain(within: limit)
    try await connections.wait { $0 == 0 }
    var left = OpenSockets.connected(onPort: port)
    // The port is free by now, and another test's socket may have been given it: that one goes, a leak stays.
    let loop = group.loops[0]
    for _ in 0..<200 where left > 0 {
      try await loop.visit { try await loop.sleep(for: .milliseconds(20)) }
      left = OpenSockets.connected(onPort: port)
    }
    for loop in group.loops where loop.load != 0 { throw TimedOut("\(loop.name) counts \(loop.load) connections") }
    group.shutDown()
    if left > 0 { throw TimedOut("\(left) sockets of port \(port) were left open") }
  }
}

extension EchoServer {
  /// Starts a server, runs `body` on a client's loop, stops the server and proves that neither side left a socket open.
  public static func run(
    loops: Int = 1, tls: Bool = false, handlers: EchoHandlers = EchoHandlers(), interceptors: [any ServerInterceptor] = [],
    http: [HTTPRoute] = [], fallback: HTTPRoute.Handler? = nil, configuration: RPCServerConfiguration = .init(),
    echoLimit: RequestLimit? = nil, _ body: @escaping @Sendable (EchoServer, EventLoopGroup) async throws -> Void
  ) async throws {
    let server = try start(
      loops: loops, tls: tls, handlers: handlers, interceptors: interceptors, http: http, fallback: fallback,
      configuration: configuration, echoLimit: echoLimit)
    let clients = try EventLoopGroup(count: 1, name: "test")
    let result: Result<Void, any Error>
    do { result = .success(try await clients.loops[0].perform { try await body(server, clients) }) } catch {
      result = .failure(error)
    }
    try await server.stop()
    clients.shutDown()
    try result.get()
  }

  /// Starts a server and runs `body` with a client of it, on the client's loop.
  public static func call(
    loops: Int = 1, tls: Bool = false, handlers: EchoHandlers = EchoHandlers(), interceptors: [any ServerInterceptor] = [],
    configuration: RPCServerConfiguration = .init(), client: ClientChannelConfiguration = .init(),
    _ body: @escaping @Sendable (EchoService.Client, EchoServer) async throws -> Void
  ) async throws {
    try await run(loops: loops, tls: tls, handlers: handlers, interceptors: interceptors, configuration: configuration) {
      server, clients in
      let channel = try server.channel(on: clients, configuration: client)
      let result: Result<Void, any Error>
      do { result = .success(try await body(EchoService.Client(channel), server)) } catch { result = .failure(error) }
      await channel.close()
      try result.get()
    }
  }
}

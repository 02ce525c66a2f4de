internal import EventLoop
internal import HTTP2
internal import MessagesWire
internal import RPC
internal import RPCWire

/// A server's share of one loop: its connections, and what their calls use together.
// SAFETY: made on any thread and then used on its loop only.
final class ServerLoop: HTTP2ConnectionDelegate, EndOfTickWork, @unchecked Sendable {
  let loop: EventLoop
  let resources: HTTP2LoopResources
  let routes: RouteTable
  let fallback: HTTPRoute.Handler?
  let observer: (any ServerCallObserver)?
  /// Who is told of calls that no handler sees.
  let refusals: (any ServerCallObserver)?
  let configuration: RPCServerConfiguration
  let events: RPCServerEvents
  let decoder = MessageDecoder()
  let encoder = MessageEncoder()
  /// The same for what is done with every message, without counting references.
  // SAFETY: both are held above, as long as this is.
  let borrowedDecoder: Unmanaged<MessageDecoder>
  let borrowedEncoder: Unmanaged<MessageEncoder>
  /// What a call may take at most, in nanoseconds; the most there are when nothing bounds it.
  let longestCall: Int64
  /// For everything but plain protobuf.
  let coding: MessageCoding
  /// What a call is before its headers are read.
  let defaultForm: CallForm
  /// Whether pages of other origins may call.
  let hasCORS: Bool
  /// Handlers that are running now.
  var runningHandlers: BudgetShare
  private let gate: AcceptGate
  /// Which one has the loop, for whoever watches it from another thread.
  let running = RunningHandlers()
  /// What plain HTTP requests for unregistered paths are called there.
  let otherRoute: RouteEntry
  private var connections: [ObjectIdentifier: HTTP2Connection] = [:]
  /// What is open now, in no order.
  var openConnections: Dictionary<ObjectIdentifier, HTTP2Connection>.Values { connections.values }
  private(set) var isDraining = false
  /// Calls with a deadline that began in this tick.
  private var begunCalls: [RPCServerCall] = []
  private var isWatchScheduled = false
  private var whenEmpty: [CheckedContinuation<Void, Never>] = []

  init(
    _ loop: EventLoop, routes: RouteTable, fallback: HTTPRoute.Handler?, observer: (any ServerCallObserver)?,
    refusals: (any ServerCallObserver)?, configuration: RPCServerConfiguration, events: RPCServerEvents, budgets: ServerBudgets,
    gate: AcceptGate
  ) {
    self.loop = loop
    self.routes = routes
    self.fallback = fallback
    self.observer = observer
    self.refusals = refusals
    self.configuration = configuration
    self.events = events
    self.gate = gate
    borrowedDecoder = .passUnretained(decoder)
    borrowedEncoder = .passUnretained(encoder)
    longestCall = configuration.maximumCallDuration?.saturatingNanoseconds ?? .max
    runningHandlers = BudgetShare(of: budgets.handlers)
    resources = HTTP2LoopResources(
      loop, limits: configuration.http2, budgets: budgets.memory, clients: configuration.proxies)
    coding = MessageCoding(
      decoder, encoder, registry: configuration.messageRegistry, ignoresUnknownFields: configuration.ignoresUnknownJSONFields)
    hasCORS = configuration.cors != nil
    otherRoute = RouteEntry(
      "a plain HTTP request for no registered path", .http(HTTPRoute("") { _ in .text(404, "not found\n") }))
    var form = CallForm()
    form.chosen = configuration.responseCompression
    form.offered = configuration.responseCompression
    defaultForm = form
  }

  /// Takes over an accepted socket.
  func serve(_ descriptor: Int32, from peer: SocketAddress, tls: TLSContext?) {
    do {
      let connection = try HTTP2Connection.serve(descriptor, peer: peer, tls: tls, resources: resources, delegate: self)
      connections[ObjectIdentifier(connection)] = connection
      events.connectionsChanged(1)
      if isDraining { connection.drain() }
    } catch {
      loop.giveBackLoad()
      gate.leave(peer)
      events.connectionFailed(peer.host, HTTP2Error(.connectFailed, "\(error)"))
    }
  }

  /// What answers a request that the server itself refuses, in the words of the route where it has one.
  func refusal(_ refusal: HTTPRefusal, of route: HTTPRoute? = nil) -> HTTPRoute.Handler {
    { [cors = configuration.cors, events] request in
      events.httpRefused(refusal, request.method, request.path, request.peer)
      return refusal.response(route, to: request.header("origin"), cors)
    }
  }

  /// Whether one more handler may run for a stream's connection, or its client where a proxy's connection is shared by many. None has
  /// more than the loop.
  @inline(__always)
  func hasRoom(on stream: HTTP2Stream?) -> Bool {
    let limit = configuration.maximumRunningHandlersPerConnection
    guard runningHandlers.used >= limit, let stream else { return true }
    return (stream.client?.runningHandlers ?? stream.connection.runningHandlers) < limit
  }

  // MARK: Deadlines

  /// Has a call's deadline watched from the end of this tick on.
  func bound(_ call: RPCServerCall) {
    if !isWatchScheduled {
      isWatchScheduled = true
      loop.atEndOfTick(self)
    }
    call.begunIndex = begunCalls.count
    begunCalls.append(call)
  }

  /// A call is over before its tick is: nothing is to be watched, and nobody but its stream holds it any more, which may then use
  /// it for its next request.
  func unbound(_ call: RPCServerCall) {
    let index = call.begunIndex
    guard index >= 0 else { return }
    call.begunIndex = -1
    let last = begunCalls.removeLast()
    guard last !== call else { return }
    begunCalls[index] = last
    last.begunIndex = index
  }

  func endOfTick() {
    isWatchScheduled = false
    for call in begunCalls {
      call.begunIndex = -1
      call.startClock()
    }
    begunCalls.removeAll(keepingCapacity: true)
  }

  // MARK: Drain

  /// Says GOAWAY on every connection, ends the calls that would go on for as long as the server does, and waits until the last
  /// connection is closed.
  func drain() async {
    isDraining = true
    for connection in connections.values {
      connection.drain()
      for stream in connection.streams { (stream.handler as? RPCServerCall)?.serverDrains() }
    }
    guard !connections.isEmpty else { return resources.forgetStreams() }
    await withCheckedContinuation { whenEmpty.append($0) }
  }

  /// Closes what is left.
  func closeAll() {
    isDraining = true
    for connection in connections.values { connection.close() }
  }

  // MARK: Connections

  func connectionIsReady(_ connection: HTTP2Connection) {}

  func connectionIsDraining(_ connection: HTTP2Connection) {}

  func connection(_ connection: HTTP2Connection, opened stream: HTTP2Stream) {
    // Described before the first call, so that whoever asks from elsewhere finds it.
    if connection.attachment == nil { _ = ConnectionPeer.of(connection) }
    if var call = stream.handler as? RPCServerCall, call.isReusable {
      stream.handler = nil
      // Whoever still holds the last call, a context that was passed on, must never see the next one's data.
      if !isKnownUniquelyReferenced(&call) { call = RPCServerCall(on: self) }
      stream.handler = call
      call.open(stream)
    } else {
      let call = RPCServerCall(on: self)
      stream.handler = call
      call.open(stream)
    }
  }

  func connectionClosed(_ connection: HTTP2Connection, _ error: HTTP2Error?) {
    connections[ObjectIdentifier(connection)] = nil
    loop.giveBackLoad()
    gate.leave(connection.peer)
    // First why, then that: who counts connections knows the reason once the count falls.
    if let error { events.connectionFailed(connection.peer.host, error) }
    events.connectionsChanged(-1)
    if connections.isEmpty {
      if isDraining { resources.forgetStreams() }
      let waiting = whenEmpty
      whenEmpty = []
      for continuation in waiting { continuation.resume() }
    }
  }
}

import EventLoop
import HTTP2
import MessagesCore
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

/// Requests larger than others': who sends them is judged before they are received, and no more than two of the largest are there.
@Suite("Large requests") struct LargeRequestTests {
  private static let limit = 1 << 20
  private static let usual = 128 << 10

  private static var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    configuration.maximumRequestBytes = usual
    configuration.largeRequestBytes = 2 * limit
    configuration.http2.streamWindowBytes = 64 << 10
    return configuration
  }

  /// A message that comes to so many bytes.
  private static func request(_ bytes: Int = limit, _ sequence: Int64 = 0) -> EchoRequest {
    let number = sequence == 0 ? 0 : 2
    // A tag and a length of three bytes from 16 KiB to 2 MiB.
    return EchoRequest(body: Bytes([UInt8](repeating: 7, count: bytes - 4 - number)), sequence: sequence)
  }

  private static func run(
    loops: Int = 1, handlers: EchoHandlers = EchoHandlers(), interceptors: [any ServerInterceptor] = [],
    http: [HTTPRoute] = [], _ body: @escaping @Sendable (EchoService.Client, EchoServer, EventLoopGroup) async throws -> Void
  ) async throws {
    try await EchoServer.run(
      loops: loops, handlers: handlers, interceptors: interceptors, http: http, configuration: configuration,
      echoLimit: RequestLimit(bytes: limit, alternative: "Sum")
    ) { server, clients in
      let channel = try server.channel(on: clients)
      let result = await Result.of { try await body(EchoService.Client(channel), server, clients) }
      await channel.close()
      try result.get()
    }
  }

  /// Handlers that stay until they are let go, and what they have seen.
  private final class Held: Sendable {
    let entered = Tally("handlers that have their request")
    let released = Tally("handlers that may go on")
    let order = Mutex<[Int64]>([])

    var handlers: EchoHandlers {
      EchoHandlers { request, _ in
        self.order.withLock { $0.append(request.sequence) }
        self.entered.add()
        while self.released.value == 0 { try await EventLoop.current?.sleep(for: .milliseconds(5)) }
      }
    }
  }

  @Test("One at the limit comes back whole, one byte more is refused by the name of what takes more")
  func edge() async throws {
    try await Self.run { client, server, _ in
      let whole = try await client.echo(Self.request())
      #expect(whole.body.count == Self.limit - 4)
      let error = await #expect(throws: RPCError.self) { try await client.echo(Self.request(Self.limit + 1)) }
      #expect(error?.code == .resourceExhausted && error?.message.contains("Sum") == true)
      #expect(server.server.largeRequests == (0, 0))
    }
  }

  @Test("Two of the largest are worked on at once, on whichever loops; the third waits its turn", arguments: [1, 2])
  func two(loops: Int) async throws {
    let held = Held()
    try await Self.run(loops: loops, handlers: held.handlers) { client, server, clients in
      let second = try server.channel(on: clients)
      async let first = client.echo(Self.request(Self.limit, 1))
      async let other = EchoService.Client(second).echo(Self.request(Self.limit, 2))
      try await held.entered.reaches(2)
      async let last = client.echo(Self.request(Self.limit, 3))
      try await server.awaitLargeRequests(waiting: 1)
      #expect(held.entered.value == 2 && server.server.largeRequests.bytes == 2 * Self.limit)
      // What is not large does not wait.
      async let small = client.echo(Self.request(Self.usual - 5, 4))
      try await held.entered.reaches(3)
      #expect(held.order.withLock { Set($0) } == [1, 2, 4])
      held.released.add()
      let answers = try await [first, other, last, small]
      #expect(answers.map(\.sequence) == [1, 2, 3, 4])
      #expect(server.server.largeRequests == (0, 0))
      await second.close()
    }
  }

  @Test("Who gives up while it waits leaves its place to the next, and who is worked on gives its room back however it ends")
  func gaveUp() async throws {
    let held = Held()
    try await Self.run(handlers: held.handlers) { client, server, _ in
      let running = (1...2).map { number in
        Task { try await client.echo(Self.request(Self.limit, Int64(number))) }
      }
      try await held.entered.reaches(2)
      let waiting = Task { try await client.echo(Self.request(Self.limit, 3)) }
      try await server.awaitLargeRequests(waiting: 1)
      let next = Task { try await client.echo(Self.request(Self.limit, 4)) }
      try await server.awaitLargeRequests(waiting: 2)
      waiting.cancel()
      try await server.awaitLargeRequests(waiting: 1)
      running[0].cancel()
      try await held.entered.reaches(3)
      #expect(held.order.withLock { $0 }.last == 4)
      held.released.add()
      let answers = try await [running[1].value, next.value]
      #expect(answers.map(\.sequence) == [2, 4])
      await #expect(throws: RPCError.self) { try await waiting.value }
      await #expect(throws: RPCError.self) { try await running[0].value }
      #expect(server.server.largeRequests == (0, 0))
    }
  }

  @Test("A handler that has let go of its request is waited for by nobody")
  func letGo() async throws {
    let (entered, released) = (Tally("handlers"), Tally("handlers that may go on"))
    let handlers = EchoHandlers { _, call in
      call.letGoOfRequest()
      entered.add()
      try await released.wait { $0 > 0 }
    }
    try await Self.run(handlers: handlers) { client, server, _ in
      let calls = (1...5).map { number in Task { try await client.echo(Self.request(Self.limit, Int64(number))) } }
      try await entered.reaches(5)
      released.add()
      for (index, call) in calls.enumerated() { #expect(try await call.value.sequence == Int64(index + 1)) }
    }
  }

  /// Lets nobody in.
  private struct Closed: ServerInterceptor {
    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      throw RPCError(.unauthenticated, "nobody comes in")
    }
  }

  @Test("A stranger is refused before the request is received, in each protocol")
  func stranger() async throws {
    try await Self.run(interceptors: [Closed()]) { _, server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")))
      #expect(try await peer.response(1).status == StatusCode.unauthenticated.rawValue)
      let connect = HTTP2Peer.httpHeaders(
        "POST", "/parley.testing.v1.EchoService/Echo",
        [("content-type", "application/proto"), ("content-length", "\(Self.limit)")])
      peer.send(.headers(3, connect))
      #expect(try await peer.response(3).value(":status") == "401")
      #expect(server.server.largeRequests == (0, 0))
      peer.close()
    }
  }

  /// Reads the request before the handler would, and lets nobody through.
  private struct Refusing: ServerInterceptor {
    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      try await call.awaitRequest()
      _ = try await call.unaryRequest(EchoRequest.self)
      throw RPCError(.permissionDenied, "somebody else's")
    }
  }

  @Test("Who is refused once the request was read, or goes away before it is there, leaves no room taken")
  func refused() async throws {
    try await Self.run(interceptors: [Refusing()]) { client, server, clients in
      for _ in 0..<3 {
        let error = await #expect(throws: RPCError.self) { try await client.echo(Self.request()) }
        #expect(error?.code == .permissionDenied && server.server.largeRequests == (0, 0))
      }
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let beginning = Array(HTTP2Peer.message(.init(repeating: 0, count: Self.limit)).prefix(64 << 10))
      for stream: UInt32 in [1, 3, 5] {
        peer.send(.headers(stream, HTTP2Peer.grpcHeaders("Echo")))
        peer.sendBody(stream, beginning, ends: false)
        try await server.awaitLargeRequests(bytes: Self.limit)
        peer.send(.reset(stream, 8))
        try await server.awaitLargeRequests(bytes: 0)
      }
      peer.close()
    }
  }

  /// Takes the first letters of the text for who sends it, as metadata would tell.
  private struct Named: ServerInterceptor {
    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      call[RequestOwner.self] = call.metadata["x-owner"]
      try await next(call)
    }
  }

  @Test("Whoever sends several waits for themselves, and nobody else waits for that")
  func owners() async throws {
    let held = Held()
    try await Self.run(handlers: held.handlers, interceptors: [Named()]) { client, server, _ in
      func send(_ number: Int64, as owner: String) -> Task<EchoResponse, any Error> {
        Task {
          try await client.echo(Self.request(Self.limit, number), options: CallOptions(metadata: ["x-owner": .init(owner)]))
        }
      }
      let first = send(1, as: "ana")
      try await held.entered.reaches(1)
      let second = send(2, as: "ana")
      try await server.awaitLargeRequests(waiting: 1)
      let other = send(3, as: "ben")
      try await held.entered.reaches(2)
      #expect(held.order.withLock { $0 } == [1, 3])
      held.released.add()
      let answers = try await [first.value, second.value, other.value]
      #expect(answers.map(\.sequence) == [1, 2, 3] && server.server.largeRequests == (0, 0))
    }
  }

  @Test("The window opens for those who have a turn, and for the next when one of them is gone")
  func windows() async throws {
    try await Self.run { _, server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      func announce(_ stream: UInt32) {
        peer.send(.headers(stream, HTTP2Peer.grpcHeaders("Echo")))
        // As much as the window takes, of a message as large as they may be.
        peer.sendBody(stream, Array(HTTP2Peer.message(.init(repeating: 0, count: Self.limit)).prefix(64 << 10)), ends: false)
      }
      func isLetIn(_ stream: UInt32) -> Bool { Self.widened(peer, stream) > 0 }
      for stream: UInt32 in [1, 3, 5] { announce(stream) }
      try await peer.wait("windows of two") { isLetIn(1) && isLetIn(3) }
      try await server.awaitLargeRequests(waiting: 1)
      #expect(!isLetIn(5))
      peer.send(.reset(1, 8))
      try await peer.wait("a window of the third") { isLetIn(5) }
      peer.close()
    }
  }

  @Test("What is compressed counts as what it may become")
  func compressed() async throws {
    let held = Held()
    try await Self.run(handlers: held.handlers) { client, server, _ in
      var options = CallOptions()
      options.compression = .gzip
      let calls = (1...3).map { number in
        Task { [options] in try await client.echo(Self.request(Self.limit - 100, Int64(number)), options: options) }
      }
      try await held.entered.reaches(2)
      try await server.awaitLargeRequests(waiting: 1)
      #expect(held.entered.value == 2)
      held.released.add()
      for call in calls { #expect(try await call.value.body.count > Self.usual) }
    }
  }

  // MARK: Plain HTTP

  /// How much wider a stream's window has become.
  private static func widened(_ peer: HTTP2Peer, _ stream: UInt32) -> Int {
    peer.frames.filter { $0.type == 8 && $0.stream == stream }.reduce(0) { $0 + Int($1.number()) }
  }

  /// Sends a body as far as the window lets it, until all of it is sent.
  private static func send(_ count: Int, on stream: UInt32, of peer: HTTP2Peer, from start: Int = 0) async throws {
    var sent = start
    while sent < count {
      let wider = widened(peer, stream)
      if (64 << 10) + wider <= sent { try await peer.wait("a wider window") { widened(peer, stream) > wider } }
      let end = min((64 << 10) + widened(peer, stream), count)
      peer.sendBody(stream, [UInt8](repeating: 1, count: end - sent), ends: end == count)
      sent = end
    }
  }

  private static func route(_ held: Held) -> HTTPRoute {
    HTTPRoute("/large", maximumBodyBytes: limit, beginsAtHeaders: true) { request in
      guard request.header("authorization") != nil else { return .text(401, "nobody comes in\n") }
      let count = try await request.withBody {
        $0.count
      } then: { count in
        held.entered.add()
        try await held.released.wait { $0 > 0 }
        return count
      }
      return .text(200, "\(count)")
    }
  }

  @Test("A body of plain HTTP waits its turn too, and a stranger's is not received")
  func http() async throws {
    let held = Held()
    try await Self.run(handlers: held.handlers, http: [Self.route(held)]) { client, server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let length = ("content-length", "\(Self.limit)")
      peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/large", [length])))
      #expect(try await peer.response(1).value(":status") == "401")
      let calls = (1...2).map { number in Task { try await client.echo(Self.request(Self.limit, Int64(number))) } }
      try await held.entered.reaches(2)
      peer.send(.headers(3, HTTP2Peer.httpHeaders("POST", "/large", [("authorization", "me"), length])))
      peer.sendBody(3, [UInt8](repeating: 1, count: 64 << 10), ends: false)
      try await server.awaitLargeRequests(waiting: 1)
      #expect(Self.widened(peer, 3) == 0)
      held.released.add()
      try await Self.send(Self.limit, on: 3, of: peer, from: 64 << 10)
      #expect(String(decoding: try await peer.response(3).body, as: UTF8.self) == "\(Self.limit)")
      for call in calls { _ = try await call.value }
      #expect(server.server.largeRequests == (0, 0))
      peer.close()
    }
  }

  @Test("A large body that does not come leaves its turn to the next")
  func slow() async throws {
    let held = Held()
    held.released.add()
    var configuration = Self.configuration
    configuration.largeBodyGrace = .milliseconds(300)
    configuration.largeBodyBytesPerSecond = 1 << 30
    configuration.largeRequestBytes = Self.limit
    try await EchoServer.run(http: [Self.route(held)], configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let fields = [("authorization", "me"), ("content-length", "\(Self.limit)")]
      for stream: UInt32 in [1, 3] {
        peer.send(.headers(stream, HTTP2Peer.httpHeaders("POST", "/large", fields)))
        peer.sendBody(stream, [UInt8](repeating: 1, count: 64 << 10), ends: false)
      }
      #expect(try await peer.response(1).value(":status") == "408")
      // Its turn has come, and goes by like the first one's.
      #expect(try await peer.response(3).value(":status") == "408")
      #expect(server.server.largeRequests == (0, 0))
      peer.close()
    }
  }

  @Test("What is announced and does not come takes no room, and a wait for a turn has an end")
  func announced() async throws {
    let held = Held()
    var configuration = Self.configuration
    configuration.maximumCallDuration = .milliseconds(500)
    configuration.largeRequestBytes = Self.limit
    try await EchoServer.run(http: [Self.route(held)], configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let fields = [("authorization", "me"), ("content-length", "\(Self.limit)")]
      for stream: UInt32 in [1, 3] { peer.send(.headers(stream, HTTP2Peer.httpHeaders("POST", "/large", fields))) }
      peer.sendBody(1, [UInt8](repeating: 1, count: (64 << 10) - 1), ends: false)
      for stream: UInt32 in [1, 3] { #expect(try await peer.response(stream).value(":status") == "408") }
      #expect(server.server.largeRequests == (0, 0))
      // One that is worked on, and one that waits for it for too long.
      peer.send(.headers(5, HTTP2Peer.httpHeaders("POST", "/large", fields)))
      try await Self.send(Self.limit, on: 5, of: peer)
      try await held.entered.reaches(1)
      peer.send(.headers(7, HTTP2Peer.httpHeaders("POST", "/large", fields)))
      peer.sendBody(7, [UInt8](repeating: 1, count: 64 << 10), ends: false)
      let late = try await peer.response(7)
      #expect(late.value(":status") == "503" && late.value("retry-after") == "1")
      #expect(server.shed == [.requestBytes])
      held.released.add()
      #expect(try await peer.response(5).value(":status") == "200")
      #expect(server.server.largeRequests == (0, 0))
      peer.close()
    }
  }

  @Test("A body without a length is taken for a small one until it is none", arguments: [100 << 10, 200 << 10])
  func unknownLength(_ count: Int) async throws {
    let held = Held()
    held.released.add()
    try await Self.run(http: [Self.route(held)]) { _, server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/large", [("authorization", "me")])))
      try await Self.send(count, on: 1, of: peer)
      #expect(String(decoding: try await peer.response(1).body, as: UTF8.self) == "\(count)")
      #expect(server.server.largeRequests == (0, 0))
      peer.close()
    }
  }
}

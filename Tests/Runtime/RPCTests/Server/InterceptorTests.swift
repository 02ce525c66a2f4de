import EventLoop
import HTTP2
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

@Suite("Interceptors")
struct InterceptorTests {
  /// Notes when a call comes by.
  struct Note: ServerInterceptor {
    let name: String
    let notes: Notes

    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      notes.add(name + " in")
      do { try await next(call) } catch {
        notes.add(name + " failed")
        throw error
      }
      notes.add(name + " out")
      try call.trailingMetadata.append(checking: "x-\(name)", "seen")
    }
  }

  final class Notes: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ note: String) { list.withLock { $0.append(note) } }
  }

  /// Lets in who says a name, and tells the handler.
  struct Door: ServerInterceptor {
    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      guard let name = call.metadata["x-name"] else {
        throw RPCError(.unauthenticated, "who are you?", metadata: ["x-hint": "x-name"])
      }
      call[EchoHandlers.CallerKey.self] = name
      try await next(call)
    }
  }

  @Test("The first is the outermost, and each may add trailers")
  func order() async throws {
    let notes = Notes()
    let chain = ["a", "b", "c"].map { Note(name: $0, notes: notes) }
    try await EchoServer.call(interceptors: chain) { client, _ in
      let response = try await client.channel.unary(EchoService.Methods.echo, .init(), .init())
      #expect(notes.all == ["a in", "b in", "c in", "c out", "b out", "a out"])
      #expect(response.trailingMetadata["x-a"] == "seen" && response.trailingMetadata["x-c"] == "seen")
    }
  }

  /// Notes how calls begin and end; in the way it only notes that it was.
  final class Onlooker: ServerInterceptor, ServerCallObserver {
    let notes: Notes
    var observer: (any ServerCallObserver)? { self }

    init(_ notes: Notes) { self.notes = notes }

    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      notes.add("in the way")
      try await next(call)
    }

    func callBegins(_ call: any ServerCall) { notes.add("\(call.method.name) begins") }

    func callEnds(_ call: any ServerCall, since start: UInt64, _ error: (any Error)?) {
      let isInOrder = start > 0 && start <= MonotonicInstant.now().nanoseconds
      notes.add("ends \(isInOrder) \((error as? RPCError)?.code.name ?? "OK") \(call.traffic.sent)")
    }

    func callRefused(_ call: any ServerCall, since start: UInt64, _ error: RPCError) {
      let isInOrder = start > 0 && start <= MonotonicInstant.now().nanoseconds
      notes.add("\(call.method.name) refused \(isInOrder) \(error.code.name) \(call.peer.address) \(call.protocolName)")
    }
  }

  @Test("The outermost that only looks on is told of calls instead of being in their way; any other is not")
  func onlooker() async throws {
    let notes = Notes()
    try await EchoServer.call(interceptors: [Onlooker(notes), Door(), Onlooker(notes)]) { client, _ in
      _ = try? await client.guarded()
      let caller = try await client.guarded(options: .init(metadata: ["x-name": "ana"])).caller
      #expect(caller == "ana")
      #expect(
        notes.all == [
          "Guarded begins", "ends true UNAUTHENTICATED 0", "Guarded begins", "in the way", "ends true OK 5",
        ])
    }
  }

  /// One thing that goes wrong before any handler.
  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let expected: [String]
    let play: @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  }

  static let refusals: [Refusal] = [
    Refusal(testDescription: "an unknown method", expected: [" refused true UNIMPLEMENTED 127.0.0.1 grpc"]) { peer, _ in
      let answer = try await peer.answer(1, "Nothing", "application/grpc")
      #expect(answer.status == StatusCode.unimplemented.rawValue)
    },
    Refusal(testDescription: "an unknown method of Connect", expected: [" refused true UNIMPLEMENTED 127.0.0.1 connect"]) {
      peer, _ in
      let answer = try await peer.answer(1, "Nothing", "application/proto", [], [("connect-protocol-version", "1")])
      #expect(answer.value(":status") == "404")
    },
    Refusal(testDescription: "a request that is too large", expected: ["Echo refused true RESOURCE_EXHAUSTED 127.0.0.1 grpc"]) {
      peer, _ in
      let answer = try await peer.answer(1, "Echo", "application/grpc", HTTP2Peer.message(ProtocolPeer.echo(ofBytes: 20_000)))
      #expect(answer.status == StatusCode.resourceExhausted.rawValue)
    },
    Refusal(testDescription: "headers that are too large", expected: ["Echo refused true RESOURCE_EXHAUSTED 127.0.0.1 grpc"]) {
      peer, _ in
      let long = (0..<3).map { ("x-long-\($0)", String(repeating: "x", count: 4_000)) }
      let answer = try await peer.answer(1, "Echo", "application/grpc", HTTP2Peer.message([]), long)
      #expect(answer.status == StatusCode.resourceExhausted.rawValue)
    },
    Refusal(testDescription: "a timeout that is none", expected: ["Echo refused true INVALID_ARGUMENT 127.0.0.1 grpc"]) {
      peer, _ in
      let answer = try await peer.answer(1, "Echo", "application/grpc", HTTP2Peer.message([]), [("grpc-timeout", "soon")])
      #expect(answer.status == StatusCode.invalidArgument.rawValue)
    },
    Refusal(
      testDescription: "a deadline that passes before the request is whole",
      expected: ["Echo refused true DEADLINE_EXCEEDED 127.0.0.1 grpc"]
    ) { peer, _ in
      peer.post(1, "Echo", "application/grpc", [0, 0, 0], [("grpc-timeout", "50m")], ends: false)
      let answer = try await peer.response(1)
      #expect(answer.status == StatusCode.deadlineExceeded.rawValue)
    },
    Refusal(
      testDescription: "a caller that gives up before its request is whole",
      expected: ["Echo refused true CANCELLED 127.0.0.1 grpc"]
    ) { peer, _ in
      peer.post(1, "Echo", "application/grpc", [0, 0, 0], ends: false)
      peer.send(.reset(1, 8))
      try await peer.probe(3)
    },
    Refusal(
      testDescription: "more calls than may run",
      expected: ["Sleep begins", "Echo refused true RESOURCE_EXHAUSTED 127.0.0.1 grpc"]
    ) { peer, server in
      peer.call(1, "Sleep")
      try await server.handlers.sleeping.wait { $0 == 1 }
      let answer = try await peer.answer(3, "Echo", "application/grpc", HTTP2Peer.message([]))
      #expect(answer.status == StatusCode.resourceExhausted.rawValue && answer.value("grpc-retry-pushback-ms") == "1000")
      peer.send(.reset(1, 8))
      try await server.handlers.cancelled.wait { $0 == 1 }
    },
  ]

  @Test(
    "A call that is refused before its handler is told of, once, with its method, its status and its peer", arguments: refusals)
  func refusedEarly(_ refusal: Refusal) async throws {
    let notes = Notes()
    var configuration = RPCServerConfiguration()
    configuration.maximumRequestBytes = 10_000
    configuration.maximumRunningHandlers = 1
    configuration.http2.headerListBytes = 8_192
    try await ProtocolPeer.run(configuration, interceptors: [Onlooker(notes)]) { peer, server in
      try await refusal.play(peer, server)
      let heard = notes.all.filter { !$0.hasPrefix("ends") && !$0.hasPrefix("Echo begins") }
      #expect(heard == refusal.expected)
    }
  }

  @Test("One that throws refuses the call: those inside and the handler never see it")
  func refusal() async throws {
    let notes = Notes()
    let chain: [any ServerInterceptor] = [Note(name: "out", notes: notes), Door(), Note(name: "in", notes: notes)]
    let reached = Tally("calls that reached the handler")
    let handlers = EchoHandlers { _, _ in reached.add() }
    try await EchoServer.call(handlers: handlers, interceptors: chain) { client, _ in
      let error = await #expect(throws: RPCError.self) { _ = try await client.echo() }
      #expect(error?.code == .unauthenticated)
      #expect(error?.metadata["x-hint"] == "x-name")
      #expect(notes.all == ["out in", "out failed"])
      #expect(reached.value == 0)
    }
  }

  @Test("A value that one attaches reaches the handler, and not the next call")
  func values() async throws {
    try await EchoServer.call(interceptors: [Door()]) { client, _ in
      let first = try await client.guarded(options: .init(metadata: ["x-name": "ana"])).caller
      #expect(first == "ana")
      let second = try await client.guarded(options: .init(metadata: ["x-name": "bob"])).caller
      #expect(second == "bob")
    }
  }

  /// Adds metadata, and calls again after UNAVAILABLE.
  struct Courier: ClientInterceptor {
    let attempts: Tally

    func intercept(
      _ method: MethodInfo, _ options: CallOptions, next: (CallOptions) async throws(RPCError) -> Void
    ) async throws(RPCError) {
      var options = options
      options.metadata["x-name"] = "courier"
      while true {
        attempts.add()
        do throws(RPCError) { return try await next(options) } catch {
          guard error.code == .unavailable, attempts.value < 3 else { throw error }
        }
      }
    }
  }

  @Test("A client's interceptor adds metadata and may repeat a call")
  func client() async throws {
    let attempts = Tally("attempts")
    var configuration = ClientChannelConfiguration()
    configuration.interceptors = [Courier(attempts: attempts)]
    let refused = Tally("refused")
    let handlers = EchoHandlers { _, call in
      #expect(call.metadata["x-name"] == "courier")
      refused.add()
      if refused.value < 3 { throw RPCError(.unavailable, "not yet") }
    }
    try await EchoServer.call(handlers: handlers, client: configuration) { client, _ in
      _ = try await client.echo()
      #expect(attempts.value == 3)
    }
  }
}

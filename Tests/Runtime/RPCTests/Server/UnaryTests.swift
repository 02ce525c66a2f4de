import EventLoop
import HTTP2
import MessagesCore
import RPC
import RPCClient
import RPCServer
import TestAPI
import TestSupport
import Testing

@Suite("Unary calls")
struct UnaryTests {
  @Test("A request comes back, in clear text and in TLS, on one loop and on two", arguments: [false, true], [1, 2])
  func echo(_ tls: Bool, _ loops: Int) async throws {
    try await EchoServer.call(loops: loops, tls: tls) { client, _ in
      for size in [0, 1, 1_000, 16_384, 300_000, 4_000_000] {
        let body = Bytes((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let response = try await client.echo(.init(text: "grüß Gott", body: body, sequence: -1))
        #expect(response.text == "grüß Gott")
        #expect(response.body == body)
        #expect(response.sequence == -1)
      }
    }
  }

  @Test("A call from outside the loops hops there and back")
  func fromElsewhere() async throws {
    let server = try EchoServer.start()
    let clients = try EventLoopGroup(count: 1)
    let channel = try server.channel(on: clients)
    let response = try await EchoService.Client(channel).echo(.init(text: "from the pool"))
    #expect(response.text == "from the pool")
    await channel.close()
    try await server.stop()
    clients.shutDown()
  }

  @Test("Metadata travels both ways, text and bytes, each name with all its values")
  func metadata() async throws {
    try await EchoServer.call { client, _ in
      var options = CallOptions(metadata: ["x-one": "1", "x-blank": "a b"])
      options.metadata.append("x-one", "2")
      options.metadata.append("x-bytes-bin", [0, 1, 2, 255])
      options.metadata.append("x-bytes-bin", [])
      let request = MetadataRequest(
        initial: ["x-first": "early", "x-first-bin": "\u{1}\u{2}"], trailing: ["x-last": "late", "x-last-bin": "\u{3}"])
      let response = try await client.channel.unary(EchoService.Methods.metadata, request, options)
      #expect(response.message.received["x-one"] == "1,2")
      #expect(response.message.received["x-blank"] == "a b")
      #expect(response.message.received["x-bytes-bin"] == "AAEC/w,")
      #expect(response.initialMetadata["x-first"] == "early")
      #expect(response.initialMetadata.binary("x-first-bin") == [1, 2])
      #expect(response.trailingMetadata["x-last"] == "late")
      #expect(response.trailingMetadata.binary("x-last-bin") == [3])
      #expect(!response.message.received.keys.contains { $0.hasPrefix(":") || $0.hasPrefix("grpc-") || $0 == "te" })
    }
  }

  @Test("Every status arrives with its message, whatever is in it", arguments: StatusCode.allCases.filter { $0 != .ok })
  func statuses(_ code: StatusCode) async throws {
    let message = "100 % größer\n\t\u{1F600}\u{0}%41 ~ \u{7f}"
    try await EchoServer.call { client, server in
      let error = await #expect(throws: RPCError.self) {
        _ = try await client.fail(.init(code: Int32(code.rawValue), message: message))
      }
      #expect(error?.code == code)
      #expect(error?.message == message)
      #expect(server.incidents.isEmpty)
    }
  }

  @Test("Rich details arrive as they were sent")
  func details() async throws {
    try await EchoServer.call { client, _ in
      let error = await #expect(throws: RPCError.self) {
        _ = try await client.fail(.init(code: 9, message: "no", reason: "NOT_TODAY"))
      }
      #expect(error?.reason == "NOT_TODAY")
      #expect(error?.retryAfter == .milliseconds(1_500))
      #expect(
        error?.details == [
          .errorInfo(reason: "NOT_TODAY", domain: "test", metadata: ["key": "value"]), .retryInfo(.milliseconds(1_500)),
          .badRequest([.init(field: "code", description: "größer als 16")]),
          .other(typeURL: "type.googleapis.com/test.Other", bytes: [0, 1, 255]),
        ])
    }
  }

  @Test("An unexpected error tells the caller an incident id and nothing else")
  func incident() async throws {
    try await EchoServer.call { client, server in
      let error = await #expect(throws: RPCError.self) {
        _ = try await client.fail(.init(code: 99, message: "password=hunter2"))
      }
      #expect(error?.code == .internal)
      let incident = try #require(server.incidents.first)
      #expect(error?.message == "internal error, incident \(incident.id)")
      #expect(incident.error is EchoHandlers.Unexpected)
      #expect(!"\(error.debugDescription)".contains("hunter2"))
      _ = try await client.echo()
    }
  }

  @Test("A status with more text than headers can carry still ends the call", arguments: [5_000, 200_000, 3_000_000])
  func longMessage(_ count: Int) async throws {
    try await EchoServer.call { client, _ in
      let error = await #expect(throws: RPCError.self) {
        _ = try await client.fail(
          .init(code: 3, message: String(repeating: "x", count: count), reason: "LONG"), options: .timeout(.seconds(30)))
      }
      #expect(error?.code == .invalidArgument)
      #expect(error?.reason == "LONG")
    }
  }

  @Test("Response headers too long to be sent end the call with INTERNAL instead of silence")
  func longHeaders() async throws {
    try await EchoServer.call { client, _ in
      let error = await #expect(throws: RPCError.self) {
        _ = try await client.metadata(
          .init(initial: ["x-long": String(repeating: "x", count: 200_000)]), options: .timeout(.seconds(30)))
      }
      #expect(error?.code == .internal)
      let late = await #expect(throws: RPCError.self) {
        _ = try await client.metadata(
          .init(trailing: ["x-long": String(repeating: "x", count: 200_000)]), options: .timeout(.seconds(30)))
      }
      #expect(late?.code == .internal)
      _ = try await client.echo()
    }
  }

  @Test("A method or service that is not there is UNIMPLEMENTED")
  func unknownMethod() async throws {
    try await EchoServer.call { client, _ in
      for (service, name) in [("parley.testing.v1.EchoService", "Nothing"), ("parley.testing.v1.Nobody", "Echo"), ("", "")] {
        let method = MethodDescriptor<EchoRequest, EchoResponse>(service: service, name: name, kind: .unary, access: .public)
        let error = await #expect(throws: RPCError.self) { _ = try await client.channel.unary(method, .init(), .init()) }
        #expect(error?.code == .unimplemented)
      }
    }
  }

  @Test("A thousand calls at once on one connection each get their own answer", arguments: [false, true])
  func thousand(_ tls: Bool) async throws {
    try await EchoServer.call(tls: tls) { client, server in
      let sum = try await withThrowingTaskGroup(of: Int64.self) { calls in
        for number in 1...1_000 {
          calls.addTask(executorPreference: EventLoop.current) {
            let response = try await client.echo(.init(text: "\(number)", sequence: Int64(number)))
            guard response.text == "\(number)" else { throw TimedOut("call \(number) got \(response.text)") }
            return response.sequence
          }
        }
        return try await calls.reduce(0, +)
      }
      #expect(sum == 500_500)
      #expect(server.connections.value == 1)
    }
  }

  @Test("More calls than the server lets run wait their turn on the client")
  func moreThanStreams() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.concurrentStreams = 10
    try await EchoServer.call(configuration: configuration) { client, _ in
      try await withThrowingTaskGroup(of: Void.self) { calls in
        for number in 1...200 {
          calls.addTask(executorPreference: EventLoop.current) {
            let first = try await client.echo(.init(sequence: Int64(number))).sequence
            #expect(first == Int64(number))
          }
        }
        try await calls.waitForAll()
      }
    }
  }

  @Test("Calls that run on two loops count together, and one more than may run is refused on either")
  func overloadOnTwoLoops() async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumRunningHandlers = 3
    try await EchoServer.run(loops: 2, configuration: configuration) { server, clients in
      let loop = clients.loops[0]
      var peers: [HTTP2Peer] = []
      for number in 1...4 {
        peers.append(try await HTTP2Peer.open(to: server.address, on: loop))
        peers[number - 1].call(1, "Sleep")
        if number < 4 { try await server.handlers.sleeping.reaches(number) }
      }
      let refused = try await peers[3].response(1)
      #expect(refused.value("grpc-retry-pushback-ms") == "1000")
      #expect(refused.status == 8 && server.group.loops.map(\.load) == [2, 2])
      peers[0].send(.reset(1, 8))
      try await server.handlers.cancelled.reaches(1)
      // Whichever loop it was, there is room on both, as soon as the handler that heard of it has returned.
      for index in [3, 2] {
        var stream: UInt32 = 3
        peers[index].call(stream, "Echo")
        while try await peers[index].response(stream).status == 8, stream < 2_001 {
          stream += 2
          peers[index].call(stream, "Echo")
        }
        #expect(try await peers[index].response(stream).status == 0)
      }
      for peer in peers { peer.close() }
    }
  }

  @Test("One call more than may run at once is RESOURCE_EXHAUSTED with pushback")
  func overload() async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumRunningHandlers = 2
    try await EchoServer.call(configuration: configuration) { client, server in
      let sleepers = [0, 1].map { _ in EventLoop.current?.spawn { _ = try? await client.sleep() } }
      try await server.handlers.sleeping.reaches(2)
      let error = await #expect(throws: RPCError.self) { _ = try await client.echo() }
      #expect(error?.code == .resourceExhausted)
      #expect(error?.details == [.retryInfo(.seconds(1))] && error?.retryAfter == .seconds(1))
      #expect(server.shed == [.runningHandlers])
      for sleeper in sleepers { sleeper?.cancel() }
      try await server.handlers.cancelled.reaches(2)
      _ = try await client.echo()
    }
  }
}

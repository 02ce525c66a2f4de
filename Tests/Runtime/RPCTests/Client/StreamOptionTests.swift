import EventLoop
import HTTP2
import MessagesCore
import MessagesWire
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

/// Limits, compression, interceptors and payloads of streams.
@Suite("Options of streams")
struct StreamOptionTests {
  @Test("Requests go out compressed where that is asked for, one by one")
  func compression() async throws {
    let seen = Tally("compressed requests")
    let handlers = EchoHandlers { _, call in if call.requestWasCompressed { seen.add() } }
    for kind in WireKind.all {
      var configuration = kind.configuration
      configuration.compression = .gzip
      try await EchoServer.call(handlers: handlers, client: configuration) { client, _ in
        let before = seen.value
        let request = EchoRequest(text: String(repeating: "x", count: 1_000))
        #expect(try await client.echo(request).text == request.text)
        #expect(seen.value == before + 1)
        #expect(try await client.echo(request, options: .init(compression: .identity)).text == request.text)
        #expect(seen.value == before + 1)
        #expect(try await client.echo(request, options: .init(compression: .deflate)).text == request.text)
        #expect(seen.value == before + 2)
        let texts = try await client.chat { call in
          for number in 0..<10 { try await call.send(.init(text: "\(number)"), compressed: number % 2 == 0) }
          try await call.finishSending()
          var texts: [String] = []
          for try await response in call.responses { texts.append(response.text) }
          return texts
        }
        #expect(texts == (0..<10).map(String.init))
      }
    }
  }

  @Test("A response over the limit ends a stream, one at the limit does not", arguments: WireKind.all)
  func limit(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, server in
      let request = CountRequest(to: 3, payloadSize: 1_000)
      let size = CountResponse(number: 1, payload: .init([UInt8](repeating: 0, count: 1_000)))
      let limit = kind.codec == .proto ? try size.protobufBytes().count : try size.jsonBytes().count
      var options = CallOptions(maximumResponseBytes: limit)
      let count = try await client.count(request, options: options) { responses in
        var count = 0
        for try await _ in responses { count += 1 }
        return count
      }
      #expect(count == 3)
      options.maximumResponseBytes = limit - 1
      let error = await #expect(throws: RPCError.self) {
        try await client.count(request, options: options) { responses in for try await _ in responses {} }
      }
      #expect(error?.code == .resourceExhausted)
      try await server.handlers.ended.wait { $0 == 2 }
    }
  }

  @Test("A large message crosses windows that are smaller than it, both ways", arguments: WireKind.all)
  func large(_ kind: WireKind) async throws {
    var server = RPCServerConfiguration()
    server.maximumRequestBytes = 32 << 20
    var client = kind.configuration
    client.maximumResponseBytes = 32 << 20
    try await EchoServer.call(configuration: server, client: client) { client, _ in
      let text = String(repeating: "0123456789abcdef", count: 1 << 19)
      #expect(try await client.echo(.init(text: text)).text == text)
      let back = try await client.chat { call in
        try await call.send(.init(text: text))
        try await call.finishSending()
        var responses = call.responses
        return try await responses.only().text
      }
      #expect(back == text)
    }
  }

  /// Adds a header, counts, and may try again.
  private struct Interceptor: ClientInterceptor {
    let calls: Tally
    let attempts: Int
    let outcome = Outcomes()

    final class Outcomes: Sendable { let codes = Mutex<[StatusCode]>([]) }

    func intercept(
      _ method: MethodInfo, _ options: CallOptions, next: (CallOptions) async throws(RPCError) -> Void
    ) async throws(RPCError) {
      var options = options
      options.metadata["x-added"] = method.name
      for attempt in 1...attempts {
        calls.add()
        do throws(RPCError) {
          try await next(options)
          return outcome.codes.withLock { $0.append(.ok) }
        } catch {
          outcome.codes.withLock { $0.append(error.code) }
          if attempt == attempts { throw error }
        }
      }
    }
  }

  @Test("An interceptor sees a stream from its beginning to its end, and its body runs once")
  func interceptors() async throws {
    let interceptor = Interceptor(calls: Tally("calls"), attempts: 2)
    var configuration = ClientChannelConfiguration()
    configuration.interceptors = [interceptor]
    try await EchoServer.call(client: configuration) { client, _ in
      let added = try await client.channel.stream(EchoService.Methods.metadata, .init()) { call in
        try await call.send(.init())
        try await call.finishSending()
        var responses = call.responses
        return try await responses.only().received["x-added"]
      }
      #expect(added == "Metadata")
      #expect(interceptor.outcome.codes.withLock { $0 } == [.ok])
      let bodies = Tally("bodies run")
      let error = await #expect(throws: RPCError.self) {
        try await client.channel.stream(EchoService.Methods.fail, .init()) { call in
          bodies.add()
          try await call.send(.init(code: 5))
          try await call.finishSending()
          var responses = call.responses
          _ = try await responses.next()
        }
      }
      #expect(error?.code == .notFound && bodies.value == 1)
      #expect(interceptor.outcome.codes.withLock { $0 } == [.ok, .notFound, .notFound])
      struct Own: Error {}
      await #expect(throws: Own.self) { try await client.chat { _ in throw Own() } }
      #expect(interceptor.calls.value == 5)
    }
  }

  @Test("Payloads go and come in the channel's codec", arguments: WireKind.all)
  func payloads(_ kind: WireKind) async throws {
    try await EchoServer.run { server, clients in
      let channel = try server.channel(on: clients, configuration: kind.configuration)
      let request = ChatRequest(text: "größe")
      let bytes = kind.codec == .proto ? try request.protobufBytes() : try request.jsonBytes()
      let payloads = try await channel.streamPayloads(EchoService.Methods.chat.info, .init()) { call in
        try await call.send(payload: bytes)
        let first = try await call.receivePayload()
        try await call.finishSending()
        return [first, try await call.receivePayload()]
      }
      #expect(payloads == [bytes, nil])
      let unary = try await channel.streamPayloads(EchoService.Methods.echo.info, .init()) { call in
        try await call.send(payload: bytes)
        try await call.finishSending()
        return try await call.receivePayload()
      }
      #expect(unary == bytes)
      await channel.close()
    }
  }

  @Test("A thousand streams are open at once on one connection")
  func thousand() async throws {
    try await EchoServer.call { client, server in
      try await withThrowingTaskGroup(of: Void.self) { group in
        let open = Tally("streams open")
        for number in 0..<1_000 {
          group.addTask {
            try await client.chat { call in
              try await call.send(.init(text: "\(number)"))
              var responses = call.responses
              #expect(try await responses.next()?.text == "\(number)")
              open.add()
              try await open.wait { $0 == 1_000 }
              try await call.finishSending()
              #expect(try await responses.next() == nil)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(server.connections.value == 1)
    }
  }
}

import ClientCore
import Foundation
import MessagesCore
import RPC
import TestAPI
import TestSupport
import Testing

/// The whole way of an app's call: URLSession, HTTP/1.1, the edge proxy, HTTP/2, the server.
@Suite("Through the edge", .enabled(if: Edge.isInstalled, "nghttpx is not installed"))
struct EdgeTests {
  private func run(_ body: @escaping @Sendable (ConnectJSONChannel, EchoServer) async throws -> Void) async throws {
    try await EchoServer.run { server, _ in
      let edge = try Edge(inFrontOf: server.port)
      let result: Result<Void, any Error>
      do {
        let channel = ConnectJSONChannel(baseURL: edge.url)
        try await Self.awaitAnswer(of: channel)
        result = .success(try await body(channel, server))
      } catch {
        result = .failure(error)
      }
      edge.stop()
      try result.get()
    }
  }

  /// Calls until the edge listens and has found the server.
  private static func awaitAnswer(of channel: ConnectJSONChannel) async throws {
    let limit = Deadline.after(.seconds(20))
    var error: RPCError?
    repeat {
      error = await refusal { _ = try await EchoService.Client(channel).echo(options: .timeout(.seconds(5))) }
    } while error?.code == .unavailable && !limit.hasPassed
    if let error { throw error }
  }

  @Test("Unary calls by POST and by GET, with values of every kind")
  func unary() async throws {
    try await run { channel, _ in
      let client = EchoService.Client(channel)
      let request = EchoRequest(text: "größe 🙂 & \"quotes\"", body: [0, 255, 10], sequence: .max)
      for options in [CallOptions(), CallOptions(prefersGET: true)] {
        let response = try await client.echo(request, options: options)
        #expect(response == EchoResponse(text: request.text, body: request.body, sequence: .max))
      }
      let large = EchoRequest(text: String(repeating: "ä", count: 500_000))
      #expect(try await client.echo(large).text == large.text)
    }
  }

  @Test("Metadata travels both ways, in headers and in trailers")
  func metadata() async throws {
    try await run { channel, _ in
      var options = CallOptions(metadata: ["x-text": "a b"])
      options.metadata.append("x-bytes-bin", [1, 2, 255])
      let response = try await channel.unary(
        EchoService.Methods.metadata, .init(initial: ["x-i": "1", "x-i-bin": "2"], trailing: ["x-t": "3", "x-t-bin": "4"]),
        options)
      #expect(response.message.received["x-text"] == "a b" && response.message.received["x-bytes-bin"] == "AQL/")
      #expect(response.initialMetadata["x-i"] == "1" && response.initialMetadata.binary("x-i-bin") == Array("2".utf8))
      #expect(response.trailingMetadata["x-t"] == "3" && response.trailingMetadata.binary("x-t-bin") == Array("4".utf8))
    }
  }

  @Test(
    "Every status code arrives as it was sent, with its message and details", arguments: StatusCode.allCases.filter { $0 != .ok })
  func failure(code: StatusCode) async throws {
    try await run { channel, _ in
      let request = FailRequest(code: Int32(code.rawValue), message: "grün 🙂 % \n", reason: "WHY")
      let error = await refusal { _ = try await EchoService.Client(channel).fail(request) }
      #expect(error?.code == code && error?.message == request.message)
      #expect(error?.reason == "WHY" && error?.retryAfter == .milliseconds(1_500))
      #expect(error?.details.last == .other(typeURL: "type.googleapis.com/test.Other", bytes: [0, 1, 255]))
    }
  }

  @Test("A server stream, a client stream, and a stream that is left early")
  func streams() async throws {
    try await run { channel, server in
      let numbers = try await channel.stream(EchoService.Methods.count, .timeout(.seconds(20))) { stream in
        try await stream.send(.init(to: 1_000))
        try await stream.finishSending()
        var numbers: [Int32] = []
        for try await response in stream.responses { numbers.append(response.number) }
        return numbers
      }
      #expect(numbers == Array(1...1_000))
      let sum = try await channel.stream(EchoService.Methods.sum, .timeout(.seconds(20))) { stream in
        for number in 1...100 as ClosedRange<Int64> { try await stream.send(.init(number: number)) }
        try await stream.finishSending()
        var responses = stream.responses
        return try await responses.only()
      }
      #expect(sum.total == 5_050 && sum.count == 100)
      try await channel.stream(EchoService.Methods.count, .timeout(.seconds(20))) { stream in
        try await stream.send(.init(to: .max, payloadSize: 1_000))
        try await stream.finishSending()
        var responses = stream.responses
        #expect(try await responses.next()?.number == 1)
      }
      try await server.handlers.ended.wait { $0 == 2 }
    }
  }

  @Test("A deadline and a cancellation reach the handler")
  func ends() async throws {
    try await run { channel, server in
      let client = EchoService.Client(channel)
      #expect(await refusal { _ = try await client.sleep(options: .timeout(.milliseconds(300))) }?.code == .deadlineExceeded)
      try await server.handlers.cancelled.wait { $0 == 1 }
      let task = Task { try await client.sleep() }
      try await server.handlers.sleeping.wait { $0 == 2 }
      task.cancel()
      #expect(await refusal { _ = try await task.value }?.code == .cancelled)
      try await server.handlers.cancelled.wait { $0 == 2 }
    }
  }

  @Test("A method that does not exist is UNIMPLEMENTED")
  func unknownMethod() async throws {
    try await run { channel, _ in
      let method = MethodDescriptor<EchoRequest, EchoResponse>(
        service: "parley.testing.v1.EchoService", name: "Nothing", kind: .unary, access: .public)
      #expect(await refusal { _ = try await channel.unary(method, .init(), .init()) }?.code == .unimplemented)
    }
  }
}

import ClientCore
import Foundation
import RPC
import TestAPI
import TestSupport
import Testing

/// Over a real URLSession, against a server that answers as a test says.
@Suite("A channel over URLSession")
struct ChannelTests {
  private static let json = ["content-type: application/json"]
  private static let stream = ["content-type: application/connect+json"]

  private func client(
    _ options: ConnectJSONChannel.Options = .init(),
    _ answer: @escaping @Sendable (ScriptedServer.Request, ScriptedServer.Connection) -> Void
  ) throws -> (EchoService.Client, ConnectJSONChannel, ScriptedServer) {
    let server = try ScriptedServer(answer)
    let channel = ConnectJSONChannel(baseURL: server.url, options: options)
    return (EchoService.Client(channel), channel, server)
  }

  @Test("A generated client calls a unary method, with metadata both ways")
  func unary() async throws {
    let (_, channel, server) = try client { request, connection in
      connection.respond(200, Self.json + ["x-initial: i", "trailer-x-trailing: t"], request.body)
    }
    defer { server.close() }
    var options = CallOptions.timeout(.seconds(20))
    options.metadata.append("x-bytes-bin", [1, 2])
    let response = try await channel.unary(EchoService.Methods.echo, EchoRequest(text: "größe", sequence: 7), options)
    #expect(response.message == EchoResponse(text: "größe", sequence: 7))
    #expect(response.initialMetadata["x-initial"] == "i" && response.trailingMetadata["x-trailing"] == "t")
    let request = try #require(server.requests.first)
    #expect(request.verb == "POST" && request.target == "/parley.testing.v1.EchoService/Echo")
    #expect(request.bodyText == #"{"text":"größe","sequence":"7"}"#)
    #expect(request.headers["x-bytes-bin"] == "AQI")
    let timeout = try #require(request.headers["connect-timeout-ms"].flatMap(Int.init))
    #expect((15_000...20_000).contains(timeout))
  }

  @Test("A method without side effects goes by GET where the caller wants it, and by POST where its address would be too long")
  func get() async throws {
    let (client, _, server) = try client(.init(maximumAddressBytes: 200)) { _, connection in
      connection.respond(200, Self.json, #"{"text":"cached","new":1}"#)
    }
    defer { server.close() }
    let options = CallOptions(prefersGET: true)
    #expect(try await client.echo(.init(text: "a&b"), options: options).text == "cached")
    _ = try await client.echo(.init(text: String(repeating: "x", count: 200)), options: options)
    _ = try await client.metadata(.init(), options: options)
    #expect(server.requests.map(\.verb) == ["GET", "POST", "POST"])
    #expect(server.requests[0].target.hasSuffix("?connect=v1&encoding=json&message=%7B%22text%22%3A%22a%26b%22%7D"))
  }

  @Test("An error's JSON becomes the RPCError that a caller would get over gRPC")
  func unaryError() async throws {
    let (client, _, server) = try client { _, connection in
      connection.respond(404, Self.json, #"{"code":"not_found","message":"no such note"}"#)
    }
    defer { server.close() }
    let error = await refusal { _ = try await client.echo() }
    #expect(error?.code == .notFound && error?.message == "no such note")
  }

  @Test(
    "What is no answer of the protocol is an error",
    arguments: [
      ("text/html", "<h1>", StatusCode.unknown), ("application/json", "{", .internal),
      ("application/json", #"{"sequence":"x"}"#, .internal),
    ])
  func notConnect(type: String, body: String, code: StatusCode) async throws {
    let (client, _, server) = try client { _, connection in connection.respond(200, ["content-type: \(type)"], body) }
    defer { server.close() }
    #expect(await refusal { _ = try await client.echo() }?.code == code)
  }

  @Test("A redirect is not followed: credentials go to no other place")
  func redirect() async throws {
    let (client, _, server) = try client { request, connection in
      let location = "location: http://127.0.0.1:\(request.headers["host"]!.split(separator: ":").last!)/other"
      connection.respond(307, [location], "")
    }
    defer { server.close() }
    #expect(await refusal { _ = try await client.echo(options: .init(metadata: ["authorization": "secret"])) }?.code == .unknown)
    #expect(server.requests.count == 1)
  }

  @Test("A response of the limit is read, one byte more is RESOURCE_EXHAUSTED")
  func responseLimit() async throws {
    let (client, _, server) = try client { _, connection in connection.respond(200, Self.json, #"{"text":"12345"}"#) }
    defer { server.close() }
    #expect(try await client.echo(options: .init(maximumResponseBytes: 16)).text == "12345")
    #expect(await refusal { _ = try await client.echo(options: .init(maximumResponseBytes: 15)) }?.code == .resourceExhausted)
  }

  @Test("A server that says nothing costs the caller no more than the deadline, and learns that the call is over")
  func deadline() async throws {
    let left = Tally("connections that ended")
    let (client, _, server) = try client { _, connection in
      connection.waitForEnd()
      left.add()
    }
    defer { server.close() }
    #expect(await refusal { _ = try await client.echo(options: .timeout(.milliseconds(200))) }?.code == .deadlineExceeded)
    try await left.wait { $0 == 1 }
  }

  @Test("A cancelled task leaves its call at once, and the server learns it")
  func cancellation() async throws {
    let (begun, left) = (Signal(), Tally("connections that ended"))
    let (client, _, server) = try client { _, connection in
      begun.fire()
      connection.waitForEnd()
      left.add()
    }
    defer { server.close() }
    let task = Task { try await client.echo() }
    try await begun.wait()
    task.cancel()
    #expect(await refusal { _ = try await task.value }?.code == .cancelled)
    try await left.wait { $0 == 1 }
  }

  @Test("Nobody at the port is UNAVAILABLE, and the message names neither host nor port")
  func unreachable() async throws {
    var gone = ""
    do {
      let server = try ScriptedServer { _, _ in }
      gone = server.url.absoluteString
      server.close()
    }
    let client = EchoService.Client(ConnectJSONChannel(baseURL: URL(string: gone)!))
    let error = await refusal { _ = try await client.echo(options: .timeout(.seconds(10))) }
    #expect(error?.code == .unavailable && error?.message.contains("127.0.0.1") == false)
  }

  @Test("A server stream is read message by message, as they come")
  func serverStream() async throws {
    let go = DispatchSemaphore(value: 0)
    let (_, channel, server) = try client { _, connection in
      connection.begin(200, Self.stream + ["x-initial: i"])
      connection.send(Enveloped.bytes(#"{"number":1}"#))
      go.wait()
      connection.send(Enveloped.bytes(#"{"number":2}"#) + Enveloped.end(#"{"metadata":{"x-trailing":["t"]}}"#))
    }
    defer { server.close() }
    try await channel.stream(EchoService.Methods.count, .timeout(.seconds(20))) { stream in
      try await stream.send(.init(to: 2))
      try await stream.finishSending()
      #expect(try await stream.initialMetadata()["x-initial"] == "i")
      var responses = stream.responses
      #expect(try await responses.next()?.number == 1)
      go.signal()
      #expect(try await responses.next()?.number == 2)
      #expect(try await responses.next() == nil)
      #expect(try await responses.next() == nil)
      #expect(await stream.trailingMetadata()["x-trailing"] == "t")
    }
    #expect(server.requests[0].headers["content-type"] == "application/connect+json")
    #expect(server.requests[0].body == Enveloped.bytes(#"{"to":2}"#))
  }

  @Test("An error tells the headers of its response, of a unary call and of a stream; one without a response tells none (JF-06)")
  func errorHeaders() async throws {
    let (client, channel, server) = try client { request, connection in
      guard request.target.hasSuffix("/Count") else {
        return connection.respond(
          404, Self.json + ["x-early: 1", "trailer-x-late: 2"], #"{"code":"not_found","message":"gone"}"#)
      }
      let end = Enveloped.end(#"{"error":{"code":"aborted"},"metadata":{"x-late":["2"]}}"#)
      connection.respond(200, Self.stream + ["x-early: 1"], Enveloped.bytes(#"{"number":1}"#) + end)
    }
    defer { server.close() }
    let unary = await refusal { _ = try await client.echo() }
    #expect(unary?.code == .notFound && unary?.initialMetadata["x-early"] == "1" && unary?.initialMetadata["x-late"] == nil)
    #expect(unary?.metadata["x-late"] == "2")
    let stream = await refusal { try await client.count(.init(to: 1)) { responses in for try await _ in responses {} } }
    #expect(stream?.code == .aborted && stream?.initialMetadata["x-early"] == "1" && stream?.metadata["x-late"] == "2")
    server.close()
    let none = await refusal { _ = try await EchoService.Client(channel).echo(options: .timeout(.seconds(10))) }
    #expect(none?.code == .unavailable && none?.initialMetadata.isEmpty == true)
  }

  @Test("A client stream goes out as one body when its last request is there")
  func clientStream() async throws {
    let (_, channel, server) = try client { _, connection in
      connection.respond(200, Self.stream, Enveloped.bytes(#"{"total":"6","count":3}"#) + Enveloped.end())
    }
    defer { server.close() }
    let response = try await channel.stream(EchoService.Methods.sum, .init()) { stream in
      for number in [1, 2, 3] as [Int64] { try await stream.send(.init(number: number)) }
      #expect(server.requests.isEmpty)
      try await stream.finishSending()
      var responses = stream.responses
      return try await responses.only()
    }
    #expect(response.total == 6 && response.count == 3)
    let sent = [1, 2, 3].flatMap { Enveloped.bytes(#"{"number":"\#($0)"}"#) }
    #expect(server.requests[0].body == sent)
  }

  @Test(
    "A stream that does not end as it should is an error, after the messages before",
    arguments: [
      (Enveloped.end(#"{"error":{"code":"aborted","message":"m"}}"#), StatusCode.aborted), ([], .internal),
      (Enveloped.end("["), .internal), (Enveloped.bytes("{}", flags: 1), .internal), (Enveloped.bytes("["), .internal),
      ([0, 255, 255, 255, 255], .resourceExhausted), ([0, 0], .internal), (Enveloped.end() + [0], .internal),
    ])
  func brokenStream(rest: [UInt8], code: StatusCode) async throws {
    let (_, channel, server) = try client { _, connection in
      connection.respond(200, Self.stream, Enveloped.bytes(#"{"number":1}"#) + rest)
    }
    defer { server.close() }
    try await channel.stream(EchoService.Methods.count, .init()) { stream in
      try await stream.send(.init(to: 1))
      try await stream.finishSending()
      var responses = stream.responses
      #expect(try await responses.next()?.number == 1)
      #expect(await refusal { _ = try await responses.next() }?.code == code)
      #expect(await refusal { _ = try await responses.next() }?.code == code)
    }
  }

  @Test("A stream that nobody reads fails at the limit instead of filling the memory")
  func unreadLimit() async throws {
    let left = Tally("connections that ended")
    let (_, channel, server) = try client(.init(maximumUnreadBytes: 100_000)) { _, connection in
      connection.begin(200, Self.stream)
      let message = Enveloped.bytes(#"{"payload":"\#(String(repeating: "A", count: 40_000))"}"#)
      for _ in 0..<10 { connection.send(message) }
      connection.waitForEnd()
      left.add()
    }
    defer { server.close() }
    try await channel.stream(EchoService.Methods.count, .timeout(.seconds(20))) { stream in
      try await stream.send(.init())
      try await stream.finishSending()
      try await left.wait { $0 == 1 }
      var responses = stream.responses
      #expect(await refusal { while try await responses.next() != nil {} }?.code == .resourceExhausted)
    }
  }

  @Test("A scope that is left ends its call, and the server learns it")
  func leftScope() async throws {
    let left = Tally("connections that ended")
    let (_, channel, server) = try client { _, connection in
      connection.begin(200, Self.stream)
      connection.send(Enveloped.bytes(#"{"number":1}"#))
      connection.waitForEnd()
      left.add()
    }
    defer { server.close() }
    try await channel.stream(EchoService.Methods.count, .init()) { stream in
      try await stream.send(.init())
      try await stream.finishSending()
      var responses = stream.responses
      #expect(try await responses.next()?.number == 1)
    }
    try await left.wait { $0 == 1 }
  }

  @Test("A call that streams both ways is refused in words")
  func bidirectional() async throws {
    let (_, channel, server) = try client { _, _ in }
    defer { server.close() }
    let error = await refusal { try await channel.stream(EchoService.Methods.chat, .init()) { _ in } }
    #expect(error?.code == .unimplemented && error?.message.contains("HTTP/2") == true)
    #expect(server.requests.isEmpty)
  }

  @Test("A second request where one is due, and none, are UNIMPLEMENTED")
  func cardinality() async throws {
    let (_, channel, server) = try client { _, _ in }
    defer { server.close() }
    #expect(
      await refusal {
        try await channel.stream(EchoService.Methods.count, .init()) { stream in
          try await stream.send(.init())
          try await stream.send(.init())
        }
      }?.code == .unimplemented)
    #expect(
      await refusal {
        try await channel.stream(EchoService.Methods.echo, .init()) { try await $0.finishSending() }
      }?.code == .unimplemented)
    #expect(server.requests.isEmpty)
  }
}

import EventLoop
import HTTP2
import MessagesCore
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// Calls of every kind to a friendly server, in every protocol and codec.
@Suite("Streams from the client")
struct StreamTests {
  private func code(_ body: () async throws -> Void) async -> StatusCode? {
    do { try await body() } catch let error as RPCError { return error.code } catch { return nil }
    return .ok
  }

  @Test("A server's stream comes whole and in order", arguments: WireKind.all)
  func count(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, _ in
      let numbers = try await client.count(.init(to: 1_000, payloadSize: 100)) { responses in
        var numbers: [Int32] = []
        for try await response in responses {
          #expect(response.payload.count == 100)
          numbers.append(response.number)
        }
        return numbers
      }
      #expect(numbers == Array(1...1_000))
      let none = try await client.count(.init(to: 0)) { responses in
        var responses = responses
        return try await responses.next()
      }
      #expect(none == nil)
    }
  }

  @Test("A client's stream is answered once", arguments: WireKind.all)
  func sum(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, _ in
      let sum = try await client.sum { requests in
        for number in 1...1_000 { try await requests.write(.init(number: Int64(number))) }
      }
      #expect(sum == .init(total: 500_500, count: 1_000))
      #expect(try await client.sum { _ in } == .init())
    }
  }

  @Test("Messages go back and forth one at a time", arguments: WireKind.all)
  func chat(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, _ in
      try await client.chat { call in
        var responses = call.responses
        for number in 1...100 {
          try await call.send(.init(text: "message \(number)"))
          #expect(try await responses.next()?.text == "message \(number)")
        }
        try await call.finishSending()
        #expect(try await responses.next() == nil)
        #expect(try await responses.next() == nil)
      }
      try await client.chat { call in
        try await call.finishSending()
        var responses = call.responses
        #expect(try await responses.next() == nil)
      }
    }
  }

  @Test("A handler may send its headers before it has anything else to say", arguments: WireKind.all)
  func earlyHeaders(_ kind: WireKind) async throws {
    struct EarlyHeaders: ServerInterceptor {
      func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
        call.initialMetadata.append("early", "yes")
        call.sendInitialMetadata()
        call.sendInitialMetadata()
        try await next(call)
      }
    }
    try await EchoServer.call(interceptors: [EarlyHeaders()], client: kind.configuration) { client, _ in
      try await client.chat { call in
        #expect(try await call.initialMetadata()["early"] == "yes")
        try await call.send(.init(text: "after them"))
        try await call.finishSending()
        var responses = call.responses
        #expect(try await responses.only().text == "after them")
      }
      // A call with one response keeps its headers until it is known.
      #expect(try await client.echo(.init(text: "one")).text == "one")
    }
  }

  @Test("A unary call works as a stream too, and as itself", arguments: WireKind.all)
  func unary(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, _ in
      for size in [0, 1, 100_000] {
        let request = EchoRequest(text: "größe", body: .init([UInt8](repeating: 7, count: size)), sequence: 5)
        #expect(try await client.echo(request) == .init(text: "größe", body: request.body, sequence: 5))
        let response = try await client.channel.stream(EchoService.Methods.echo, .init()) { call in
          try await call.send(request)
          try await call.finishSending()
          var responses = call.responses
          return try await responses.only()
        }
        #expect(response.body == request.body)
      }
      #expect(try await client.echo() == .init())
    }
  }

  @Test("Metadata travels both ways, also around failures", arguments: WireKind.all)
  func metadata(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, _ in
      var options = CallOptions()
      options.metadata = ["x-text": "one", "x-other": "two"]
      options.metadata.append("x-binary-bin", [0, 1, 2, 255])
      let request = MetadataRequest(
        initial: ["x-first": "a", "x-first-bin": "YWI"], trailing: ["x-last": "b", "x-last-bin": "Y2Q"])
      let response = try await client.channel.unary(EchoService.Methods.metadata, request, options)
      #expect(response.message.received["x-text"] == "one")
      #expect(response.message.received["x-binary-bin"] == "AAEC/w")
      #expect(response.initialMetadata["x-first"] == "a" && response.trailingMetadata["x-last"] == "b")
      #expect(response.initialMetadata["x-last"] == nil && response.trailingMetadata["x-first"] == nil)
      try await client.channel.stream(EchoService.Methods.metadata, options) { call in
        try await call.send(request)
        try await call.finishSending()
        #expect(try await call.initialMetadata()["x-first"] == "a")
        var responses = call.responses
        #expect(try await responses.only().received["x-other"] == "two")
        #expect(await call.trailingMetadata()["x-last"] == "b")
      }
    }
  }

  @Test("A failure comes with its message, its details and its metadata", arguments: WireKind.all)
  func failures(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, _ in
      for code in StatusCode.allCases where code != .ok {
        let request = FailRequest(code: Int32(code.rawValue), message: "größer: 100 % \u{1f600}\n", reason: "TEST")
        let error = await #expect(throws: RPCError.self) { _ = try await client.fail(request) }
        #expect(error?.code == code)
        #expect(error?.message == request.message)
        #expect(error?.reason == "TEST")
        #expect(error?.retryAfter == .milliseconds(1_500))
        #expect(error?.details.count == 4)
        guard case .other("type.googleapis.com/test.Other", [0, 1, 255])? = error?.details.last else {
          Issue.record("\(String(describing: error?.details.last))")
          return
        }
      }
    }
  }

  @Test("A slow reader stops the server's writer", arguments: WireKind.all)
  func slowReader(_ kind: WireKind) async throws {
    var configuration = kind.configuration
    configuration.http2.streamWindowBytes = 100_000
    try await EchoServer.call(client: configuration) { client, server in
      let isJSON = kind.codec == .json
      let count = try await client.count(.init(to: 5_000, payloadSize: 1_000)) { responses in
        var responses = responses
        #expect(try await responses.next()?.number == 1)
        // The writer stands still when it has filled the window and its stream's buffer.
        try await server.handlers.counted.wait { $0 >= (isJSON ? 60 : 90) }
        for _ in 0..<20 { _ = try await client.echo() }
        #expect(server.handlers.counted.value < 300)
        var count = 1
        while try await responses.next() != nil { count += 1 }
        return count
      }
      #expect(count == 5_000)
    }
  }

  @Test("Leaving the scope early ends the call on the server", arguments: WireKind.all)
  func leavingEarly(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, server in
      let first = try await client.count(.init(to: .max)) { responses in
        var responses = responses
        return try await responses.next()?.number
      }
      #expect(first == 1)
      try await server.handlers.ended.wait { $0 == 1 }
      struct Stop: Error {}
      await #expect(throws: Stop.self) {
        try await client.count(.init(to: .max)) { responses in
          var responses = responses
          _ = try await responses.next()
          throw Stop()
        }
      }
      try await server.handlers.ended.wait { $0 == 2 }
    }
  }

  @Test("Giving a call up ends it on both sides", arguments: WireKind.all)
  func cancel(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, server in
      try await client.channel.stream(EchoService.Methods.count, .init()) { call in
        try await call.send(.init(to: .max))
        try await call.finishSending()
        var responses = call.responses
        _ = try await responses.next()
        call.cancel()
        #expect(await code { _ = try await responses.next() } == .cancelled)
        #expect(await code { _ = try await call.send(.init()) } == .cancelled)
        #expect(await call.trailingMetadata().isEmpty)
      }
      try await server.handlers.ended.wait { $0 == 1 }
    }
  }

  @Test("Cancelling a task that waits for one message gives the call up", arguments: WireKind.all)
  func cancelledWait(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, _ in
      try await client.chat { call in
        try await call.send(.init(text: "one"))
        var responses = call.responses
        #expect(try await responses.next()?.text == "one")
        let waiting = Task { [responses] in
          var responses = responses
          return try await responses.next()
        }
        waiting.cancel()
        #expect(await code { _ = try await waiting.value } == .cancelled)
      }
    }
  }

  @Test("Cancelling the task gives its calls up", arguments: WireKind.all)
  func cancelledTask(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, server in
      let outcome = Mutex<StatusCode?>(nil)
      let begun = Tally("responses read")
      let task = EventLoop.current?.spawn {
        do {
          try await client.count(.init(to: .max)) { responses in for try await _ in responses { begun.add() } }
        } catch {
          outcome.withLock { $0 = (error as? RPCError)?.code }
        }
      }
      try await begun.wait { $0 > 0 }
      task?.cancel()
      await task?.value
      #expect(outcome.withLock { $0 } == .cancelled)
      try await server.handlers.ended.wait { $0 == 1 }
    }
  }

  @Test("A deadline that passes ends a call of any kind", arguments: WireKind.all)
  func deadline(_ kind: WireKind) async throws {
    try await EchoServer.call(client: kind.configuration) { client, server in
      #expect(await code { _ = try await client.sleep(options: .timeout(.milliseconds(50))) } == .deadlineExceeded)
      #expect(
        await code {
          try await client.chat(options: .timeout(.milliseconds(50))) { call in
            var responses = call.responses
            _ = try await responses.next()
          }
        } == .deadlineExceeded)
      #expect(
        await code {
          try await client.count(.init(to: .max), options: .timeout(.milliseconds(50))) { responses in
            for try await _ in responses {}
          }
        } == .deadlineExceeded)
      #expect(
        await code { _ = try await client.sum(options: .init(deadline: .after(.seconds(-1)))) { _ in } } == .deadlineExceeded)
      try await server.handlers.ended.wait { $0 == 1 }
    }
  }

  @Test("A call may be made from a task of any kind, one side on each of two", arguments: WireKind.all)
  func otherTasks(_ kind: WireKind) async throws {
    try await EchoServer.run { server, clients in
      let channel = try server.channel(on: clients, configuration: kind.configuration)
      let client = EchoService.Client(channel)
      let received = await Task.detached {
        try? await client.chat { call in
          async let sent: Void = {
            for number in 0..<200 { try await call.send(.init(text: "\(number)")) }
            try await call.finishSending()
          }()
          var received: [String] = []
          for try await response in call.responses { received.append(response.text) }
          try await sent
          return received
        }
      }.value
      #expect(received == (0..<200).map(String.init))
      await channel.close()
    }
  }
}

import EventLoop
import HTTP2
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// Streams of gRPC to servers that break rules, or keep them in unusual ways.
@Suite("Odd answers to streams")
struct StreamWireTests {
  private static let type = "application/grpc"
  /// `CountResponse(number: 1)` and `2`.
  private static let one = HTTP2Peer.message([0x08, 1])
  private static let two = HTTP2Peer.message([0x08, 2])
  private static let ok = HPACK.block([("grpc-status", "0")])

  private func stream(_ body: [UInt8], trailers: [(String, String)]? = [("grpc-status", "0")]) async throws -> (
    numbers: [Int32], code: StatusCode
  ) {
    let outcome = try await OddServer.stream { peer, id in
      peer.send(.headers(id, OddServer.headers(Self.type)), .data(id, body, ends: trailers == nil))
      if let trailers { peer.send(.headers(id, HPACK.block(trailers), ends: true)) }
    }
    return (outcome.numbers, outcome.error?.code ?? .ok)
  }

  @Test("Messages that came before a failure are delivered before it")
  func messagesFirst() async throws {
    let failed = try await stream(Self.one + Self.two, trailers: [("grpc-status", "9")])
    #expect(failed.numbers == [1, 2] && failed.code == .failedPrecondition)
    let cutOff = try await stream(Self.one + Self.two.prefix(6))
    #expect(cutOff.numbers == [1] && cutOff.code == .internal)
    let prefix = try await stream(Self.one + Self.two.prefix(3))
    #expect(prefix.numbers == [1] && prefix.code == .internal)
    let unended = try await stream(Self.one, trailers: nil)
    #expect(unended.numbers == [1] && unended.code == .internal)
    let compressed = try await stream(Self.one + HTTP2Peer.message([0x08, 2], flags: 1))
    #expect(compressed.numbers == [1] && compressed.code == .internal)
    let flags = try await stream(Self.one + HTTP2Peer.message([0x08, 2], flags: 2))
    #expect(flags.numbers == [1] && flags.code == .internal)
    let nonsense = try await stream(Self.one + HTTP2Peer.message([0xff]))
    #expect(nonsense.numbers == [1] && nonsense.code == .internal)
    let large = try await stream(Self.one + [0, 0xff, 0xff, 0xff, 0xff])
    #expect(large.numbers == [1] && large.code == .resourceExhausted)
  }

  @Test("A status in the headers counts only when nothing follows")
  func statusInHeaders() async throws {
    let outcome = try await OddServer.stream { peer, id in
      peer.send(.headers(id, OddServer.headers(Self.type, [("grpc-status", "5")])), .data(id, Self.one, ends: true))
    }
    #expect(outcome.error?.code == .internal)
    let trailers = try await OddServer.stream { peer, id in
      peer.send(
        .headers(id, OddServer.headers(Self.type, [("grpc-status", "8")])),
        .headers(id, HPACK.block([("grpc-status", "9")]), ends: true))
    }
    #expect(trailers.error?.code == .failedPrecondition)
  }

  @Test(
    "A content type that is not asked for is refused",
    arguments: [
      ("application/grpc+json", StatusCode.internal), ("application/grpc+thrift", .internal), ("image/jpeg", .unknown),
      ("application/grpc-web+proto", .unknown), ("application/grpc+proto", .ok), ("application/grpc; charset=x", .ok),
    ])
  func contentType(_ type: String, _ expected: StatusCode) async throws {
    let outcome = try await OddServer.stream { peer, id in
      peer.send(
        .headers(id, OddServer.headers(type)), .data(id, Self.one), .headers(id, Self.ok, ends: true))
    }
    #expect((outcome.error?.code ?? .ok) == expected)
  }

  @Test("An encoding that nobody offered is INTERNAL, at once")
  func unknownEncoding() async throws {
    let outcome = try await OddServer.stream { peer, id in
      peer.send(.headers(id, OddServer.headers(Self.type, [("grpc-encoding", "foo")])))
    }
    #expect(outcome.error?.code == .internal)
    #expect(outcome.error?.message.contains("foo") == true)
  }

  @Test("A compressed bomb is RESOURCE_EXHAUSTED, and takes no more memory than the limit")
  func bomb() async throws {
    let bomb = ProtocolPeer.compressed([UInt8](repeating: 0, count: 64 << 20))
    #expect(bomb.count < 100_000)
    let outcome = try await OddServer.stream { peer, id in
      peer.send(.headers(id, OddServer.headers(Self.type, [("grpc-encoding", "gzip")])))
      peer.sendBody(id, HTTP2Peer.message(bomb, flags: 1), ends: false)
    }
    #expect(outcome.error?.code == .resourceExhausted)
    let unary = try await OddServer.unary { peer, id in
      peer.send(.headers(id, OddServer.headers(Self.type, [("grpc-encoding", "gzip")])))
      peer.sendBody(id, HTTP2Peer.message(bomb, flags: 1), ends: false)
      peer.send(.headers(id, Self.ok, ends: true))
    }
    #expect(throws: RPCError.self) { try unary.get() }
    guard case .failure(let error) = unary else { return }
    #expect(error.code == .resourceExhausted)
  }

  @Test("A server that ends a call early ends its sender with the status")
  func earlyEnd() async throws {
    let scripts: [OddServer.Script] = [
      { peer, id in
        peer.send(.headers(id, OddServer.headers(Self.type, [("grpc-status", "8"), ("grpc-message", "enough")]), ends: true))
      },
      { peer, id in
        peer.send(
          .headers(id, OddServer.headers(Self.type)), .data(id, HTTP2Peer.message([0x08, 42])), .headers(id, Self.ok, ends: true))
      },
      { peer, id in peer.send(.reset(id, 11)) },
    ]
    try await OddServer.run(scripts, whole: false) { client, resets in
      let first = await #expect(throws: RPCError.self) {
        _ = try await client.sum { requests in while true { try await requests.write(.init(number: 1)) } }
      }
      #expect(first?.code == .resourceExhausted && first?.message == "enough")
      // The server has had enough, and has answered.
      let sum = try await client.sum { requests in while true { try await requests.write(.init(number: 1)) } }
      #expect(sum.total == 42)
      let third = await #expect(throws: RPCError.self) {
        _ = try await client.sum { requests in while true { try await requests.write(.init(number: 1)) } }
      }
      #expect(third?.code == .resourceExhausted)
      try await resets.wait { $0 == 2 }
    }
  }

  @Test("A sender that a call's end finds suspended is told", arguments: [false, true])
  func endWhileSuspended(_ abruptly: Bool) async throws {
    try await OddServer.run(
      [
        { peer, id in
          // The window is full and never opens.
          try await peer.wait("a full window") { (peer.streams[id]?.body.count ?? 0) >= 65_000 }
          if abruptly { peer.close(abruptly: true) } else { peer.send(.reset(id, 8)) }
        }
      ], whole: false
    ) { client, _ in
      let error = await #expect(throws: RPCError.self) {
        try await client.chat { call in
          while true { try await call.send(.init(text: String(repeating: "x", count: 10_000))) }
        }
      }
      #expect(error?.code == (abruptly ? .unavailable : .cancelled))
    }
  }

  @Test("Headers are there before the first message, and of failed calls too")
  func headers() async throws {
    let release = Tally("headers seen")
    try await OddServer.run(
      [
        { peer, id in
          peer.send(.headers(id, OddServer.headers(Self.type, [("x-early", "1")])))
          try await release.wait { $0 == 1 }
          peer.send(.headers(id, HPACK.block([("grpc-status", "5"), ("x-late", "2")]), ends: true))
        },
        { peer, id in peer.send(.headers(id, OddServer.headers(Self.type, [("grpc-status", "5"), ("x-only", "3")]), ends: true))
        },
      ], whole: false
    ) { client, _ in
      try await client.chat { call in
        let early = try await call.initialMetadata()
        #expect(early["x-early"] == "1")
        release.add()
        var responses = call.responses
        let error = await #expect(throws: RPCError.self) { _ = try await responses.next() }
        #expect(error?.code == .notFound)
        #expect(error?.metadata["x-late"] == "2")
        #expect(await call.trailingMetadata()["x-late"] == "2")
        #expect(try await call.initialMetadata()["x-early"] == "1")
      }
      try await client.chat { call in
        let early = try await call.initialMetadata()
        #expect(early.isEmpty)
        var responses = call.responses
        await #expect(throws: RPCError.self) { _ = try await responses.next() }
        #expect(await call.trailingMetadata()["x-only"] == "3")
      }
    }
  }

  @Test("CANCELLED after the deadline is DEADLINE_EXCEEDED", arguments: [false, true])
  func cancelledLate(_ byReset: Bool) async throws {
    let heard = Tally("requests heard")
    let released = Tally("answers asked for")
    let sent = Tally("answers sent")
    try await OddServer.run(
      [
        { peer, id in
          heard.add()
          let number = heard.value
          try await released.wait { $0 >= number }
          if byReset {
            peer.send(.reset(id, 8))
          } else {
            peer.send(.headers(id, OddServer.headers(Self.type, [("grpc-status", "1")]), ends: true))
          }
          sent.add()
        }
      ], whole: false
    ) { client, _ in
      released.add()
      _ = try? await client.sum { _ in }
      let deadline = Deadline.after(.milliseconds(500))
      let error = await #expect(throws: RPCError.self) {
        try await client.chat(options: .init(deadline: deadline)) { call in
          // One tick lets the request leave; then the loop hears nothing until both the deadline and the answer are there.
          try await EventLoop.current?.sleep(for: .milliseconds(1))
          released.add()
          while !deadline.hasPassed || sent.value < 2 {}
          var responses = call.responses
          _ = try await responses.next()
        }
      }
      #expect(error?.code == .deadlineExceeded)
    }
  }

  @Test("More messages than one, or none, where one is due, are UNIMPLEMENTED")
  func cardinality() async throws {
    for (body, expected) in [([], StatusCode.unimplemented), (Self.one + Self.two, .unimplemented), (Self.one, .ok)] {
      try await OddServer.run([
        { peer, id in
          peer.send(.headers(id, OddServer.headers(Self.type)), .data(id, body), .headers(id, Self.ok, ends: true))
        }
      ]) { client, _ in
        var code = StatusCode.ok
        do { _ = try await client.sum { _ in } } catch let error as RPCError { code = error.code }
        #expect(code == expected)
      }
    }
  }

  @Test("Only the last message's compression is told, and each is restored by its own flag")
  func mixedCompression() async throws {
    try await OddServer.run([
      { peer, id in
        peer.send(
          .headers(id, OddServer.headers(Self.type, [("grpc-encoding", "gzip")])),
          .data(
            id, Self.one + HTTP2Peer.message(ProtocolPeer.compressed([0x08, 2]), flags: 1) + HTTP2Peer.message([], flags: 1)),
          .headers(id, Self.ok, ends: true))
      }
    ]) { client, _ in
      try await client.channel.stream(EchoService.Methods.count, .init()) { call in
        try await call.send(.init())
        try await call.finishSending()
        var responses = call.responses
        #expect(try await responses.next()?.number == 1)
        #expect(await call.responseWasCompressed() == false)
        #expect(try await responses.next()?.number == 2)
        #expect(await call.responseWasCompressed() == true)
        #expect(try await responses.next()?.number == 0)
        #expect(try await responses.next() == nil)
      }
    }
  }

  @Test("A refused stream and one above a GOAWAY are UNAVAILABLE for a stream")
  func unprocessed() async throws {
    let refused = try await OddServer.stream { peer, id in peer.send(.reset(id, 7)) }
    #expect(refused.error?.code == .unavailable)
    let goaway = try await OddServer.stream { peer, id in
      peer.send(HTTP2Frame(.goaway, HTTP2Frame.number(0) + HTTP2Frame.number(0)))
    }
    #expect(goaway.error?.code == .unavailable)
  }
}

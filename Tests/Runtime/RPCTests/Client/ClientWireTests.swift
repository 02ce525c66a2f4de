import EventLoop
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// What a server may answer, and what the caller is told: gRPC over HTTP/2, responses.
@Suite("Answers on the wire")
struct ClientWireTests {
  /// What a server says on the stream of a request that has come whole.
  typealias Script = @Sendable (HTTP2Peer, UInt32) -> Void

  /// One call to a server that answers the n-th request by the n-th script, the last for all further ones.
  private func call(_ scripts: Script..., options: CallOptions = .timeout(.seconds(30))) async throws -> Result<
    EchoResponse, RPCError
  > {
    let group = try EventLoopGroup(count: 1, name: "test")
    defer { group.shutDown() }
    return try await group.loops[0].perform {
      let served = Mutex(0)
      let server = try RawServer(on: group) { peer in
        peer.send(.settings([(4, 1_000_000)]))
        var answered: Set<UInt32> = []
        while !peer.isClosed {
          try await peer.wait("a request", within: .seconds(30)) {
            peer.isClosed || peer.streams.contains { $0.value.isOver && !answered.contains($0.key) }
          }
          for id in peer.streams.keys.sorted() where peer.streams[id]?.isOver == true && answered.insert(id).inserted {
            let number = served.withLock { number in
              defer { number += 1 }
              return number
            }
            scripts[min(number, scripts.count - 1)](peer, id)
          }
        }
      }
      var configuration = ClientChannelConfiguration()
      configuration.maximumResponseBytes = 100_000
      configuration.backoff.initial = .milliseconds(10)
      let channel = ClientChannel(to: .host("127.0.0.1", port: server.port), on: group, configuration: configuration)
      let result: Result<EchoResponse, RPCError>
      do throws(RPCError) {
        result = .success(try await EchoService.Client(channel).echo(.init(text: "x"), options: options))
      } catch {
        result = .failure(error)
      }
      await channel.close()
      server.close()
      return result
    }
  }

  private func code(_ scripts: Script...) async throws -> StatusCode {
    let result: Result<EchoResponse, RPCError>
    switch scripts.count {
    case 1: result = try await call(scripts[0])
    default: result = try await call(scripts[0], scripts[1])
    }
    switch result {
    case .success: return .ok
    case .failure(let error): return error.code
    }
  }

  private static func headers(_ fields: [(String, String)] = []) -> [UInt8] {
    HPACK.block([(":status", "200"), ("content-type", "application/grpc")] + fields)
  }

  private static let good: Script = { peer, id in
    peer.send(
      .headers(id, headers()), .data(id, HTTP2Peer.message([0x0a, 1, 0x79])),
      .headers(id, HPACK.block([("grpc-status", "0")]), ends: true))
  }

  @Test("A plain good answer is one")
  func good() async throws { #expect(try await call(Self.good).get().text == "y") }

  @Test(
    "An HTTP answer without a gRPC status becomes the code of the table",
    arguments: [
      ("400", StatusCode.internal), ("401", .unauthenticated), ("403", .permissionDenied), ("404", .unimplemented),
      ("429", .unavailable), ("502", .unavailable), ("503", .unavailable), ("504", .unavailable), ("431", .unknown),
      ("500", .unknown), ("200", .unknown), ("302", .unknown), ("405", .unknown), ("408", .unknown), ("409", .unknown),
      ("412", .unknown), ("413", .unknown), ("415", .unknown), ("499", .unknown), ("501", .unknown),
    ])
  func httpStatus(_ status: String, _ expected: StatusCode) async throws {
    let code = try await code { peer, id in
      peer.send(
        .headers(id, HPACK.block([(":status", status), ("content-type", "text/html")])),
        .data(id, Array("not found, and a text long enough to look like a frame\n".utf8), ends: true))
    }
    #expect(code == expected)
    let bare = try await self.code { peer, id in peer.send(.headers(id, HPACK.block([(":status", status)]), ends: true)) }
    #expect(bare == expected)
  }

  @Test("An HTTP error whose body never ends is told at once")
  func endlessError() async throws {
    let code = try await code { peer, id in
      peer.send(
        .headers(id, HPACK.block([(":status", "503"), ("content-type", "text/html")])),
        .data(id, [UInt8](repeating: 0, count: 10)))
    }
    #expect(code == .unavailable)
  }

  @Test(
    "A reset becomes the code of the table",
    arguments: [
      (0, StatusCode.internal), (1, .internal), (2, .internal), (3, .internal), (8, .cancelled), (11, .resourceExhausted),
      (12, .permissionDenied), (7, .unavailable),
    ] as [(UInt32, StatusCode)])
  func resets(_ number: UInt32, _ expected: StatusCode) async throws {
    #expect(try await code { peer, id in peer.send(.reset(id, number)) } == expected)
  }

  @Test("A refused stream is tried again")
  func refused() async throws {
    #expect(try await code({ peer, id in peer.send(.reset(id, 7)) }, Self.good) == .ok)
  }

  @Test("A stream above the last of a GOAWAY is tried again on a new connection")
  func goaway() async throws {
    let outcome = try await code(
      { peer, id in peer.send(HTTP2Frame(.goaway, HTTP2Frame.number(0) + HTTP2Frame.number(0))) }, Self.good)
    #expect(outcome == .ok)
  }

  @Test("A call below the last of a GOAWAY gets its answer")
  func goawayLetsFinish() async throws {
    let result = try await call { peer, id in
      peer.send(HTTP2Frame(.goaway, HTTP2Frame.number(id) + HTTP2Frame.number(0)))
      Self.good(peer, id)
    }
    #expect(try result.get().text == "y")
  }

  @Test("A connection that ends during a call is UNAVAILABLE", arguments: [false, true])
  func loss(_ abruptly: Bool) async throws {
    #expect(try await code { peer, _ in peer.close(abruptly: abruptly) } == .unavailable)
  }

  @Test("A status outside the table is UNKNOWN", arguments: ["17", "99", "x", "", "-1", "+0"])
  func oddStatus(_ status: String) async throws {
    #expect(
      try await code { peer, id in peer.send(.headers(id, Self.headers([("grpc-status", status)]), ends: true)) } == .unknown)
  }

  @Test("No message, two, half of one, a compressed one or nonsense is an error", arguments: 0..<6)
  func bodies(_ index: Int) async throws {
    let message = HTTP2Peer.message([0x0a, 1, 0x79])
    let bodies: [([UInt8], StatusCode)] = [
      ([], .unimplemented), (message + message, .unimplemented), (Array(message.prefix(6)), .internal),
      (HTTP2Peer.message([0], flags: 1), .internal), (HTTP2Peer.message([0xff]), .internal),
      ([0, 0xff, 0xff, 0xff, 0xff], .resourceExhausted),
    ]
    let (body, expected) = bodies[index]
    let code = try await code { peer, id in
      peer.send(.headers(id, Self.headers()), .data(id, body), .headers(id, HPACK.block([("grpc-status", "0")]), ends: true))
    }
    #expect(code == expected)
  }

  @Test("A server that answers a unary call with messages without end is stopped")
  func endless() async throws {
    let sent = Tally("bytes sent")
    let code = try await code { peer, id in
      peer.send(.headers(id, Self.headers()))
      let chunk = (0..<2_000).flatMap { _ in HTTP2Peer.message([0x18, 1]) }
      // As much as the connection's window allows: a client that keeps it all would open the window for more.
      for _ in 0..<18 {
        peer.send(.data(id, chunk))
        sent.add(chunk.count)
      }
    }
    #expect(code == .unimplemented)
  }

  @Test("An interim response comes before the real one")
  func interim() async throws {
    let result = try await call { peer, id in
      peer.send(.headers(id, HPACK.block([(":status", "103"), ("link", "x")])))
      Self.good(peer, id)
    }
    #expect(try result.get().text == "y")
  }

  @Test("A message with percent signs that are no escapes is told as it came")
  func percent() async throws {
    let result = try await call { peer, id in
      peer.send(.headers(id, Self.headers([("grpc-status", "5"), ("grpc-message", "50% of %C3%BC%zz%4")]), ends: true))
    }
    guard case .failure(let error) = result else { throw TimedOut("no error") }
    #expect(error.code == .notFound)
    #expect(error.message == "50% of ü%zz%4")
  }
}

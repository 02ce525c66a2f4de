import MessagesCore
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// JF-06. What the error of a typed call tells of the headers of its response.
@Suite("The headers of a response that ends in an error")
struct ErrorHeaderTests {
  private static func configuration(_ wire: ClientChannelConfiguration.Wire) -> ClientChannelConfiguration {
    WireKind(wire: wire, codec: .proto).configuration
  }

  /// Headers, then the failure; what follows the headers is given by the test.
  private static func failing(
    _ wire: ClientChannelConfiguration.Wire, isUnary: Bool, _ messages: [UInt8] = []
  ) -> OddServer.Script {
    let early = [("x-early", "1"), ("x-early", "2"), ("x-early-bin", "AAE")]
    let json = Array(#"{"code":"not_found","message":"gone"}"#.utf8)
    return { peer, id in
      switch wire {
      case .grpc:
        peer.send(
          .headers(id, OddServer.headers("application/grpc", early)), .data(id, messages),
          .headers(id, HPACK.block([("grpc-status", "5"), ("grpc-message", "gone"), ("x-late", "3")]), ends: true))
      case .grpcWeb:
        let end = HTTP2Peer.message(Array("grpc-status: 5\r\ngrpc-message: gone\r\nx-late: 3\r\n".utf8), flags: 0x80)
        peer.send(.headers(id, OddServer.headers("application/grpc-web", early)), .data(id, messages + end, ends: true))
      case .connect where isUnary:
        let fields = early + [("trailer-x-late", "3")]
        peer.send(.headers(id, OddServer.headers("application/json", status: "404", fields)), .data(id, json, ends: true))
      case .connect:
        let end = Array(#"{"error":{"code":"not_found","message":"gone"},"metadata":{"x-late":["3"]}}"#.utf8)
        peer.send(
          .headers(id, OddServer.headers("application/connect+proto", early)),
          .data(id, messages + HTTP2Peer.message(end, flags: 2), ends: true))
      }
    }
  }

  private func check(_ error: RPCError?) {
    #expect(error?.code == .notFound && error?.message == "gone")
    #expect(error?.initialMetadata.values(of: "x-early") == ["1", "2"])
    #expect(error?.initialMetadata.binary("x-early-bin") == [0, 1])
    #expect(error?.initialMetadata["x-late"] == nil)
    #expect(error?.metadata == ["x-late": "3"])
  }

  @Test("A unary call's error has them, apart from the trailers", arguments: ClientChannelConfiguration.Wire.allCases)
  func unary(_ wire: ClientChannelConfiguration.Wire) async throws {
    let result = try await OddServer.unary(in: Self.configuration(wire), Self.failing(wire, isUnary: true))
    check(Self.error(result))
  }

  @Test("So has a stream's, before its first message and after", arguments: ClientChannelConfiguration.Wire.allCases)
  func stream(_ wire: ClientChannelConfiguration.Wire) async throws {
    for messages in [[], HTTP2Peer.message([0x08, 1])] {
      let result = try await OddServer.stream(in: Self.configuration(wire), Self.failing(wire, isUnary: false, messages))
      #expect(result.numbers == (messages.isEmpty ? [] : [1]))
      check(result.error)
    }
  }

  @Test("Headers that are trailers are told as such alone", arguments: [ClientChannelConfiguration.Wire.grpc, .grpcWeb])
  func trailersOnly(_ wire: ClientChannelConfiguration.Wire) async throws {
    let type = wire == .grpc ? "application/grpc" : "application/grpc-web"
    let error = Self.error(
      try await OddServer.unary(in: Self.configuration(wire)) { peer, id in
        peer.send(.headers(id, OddServer.headers(type, [("grpc-status", "5"), ("x-only", "1")]), ends: true))
      })
    #expect(error?.code == .notFound && error?.metadata == ["x-only": "1"] && error?.initialMetadata.isEmpty == true)
  }

  @Test("What somebody in between answers has its headers; a call that got none has none")
  func between() async throws {
    let refused = Self.error(
      try await OddServer.unary { peer, id in
        peer.send(.headers(id, OddServer.headers("text/html", status: "403", [("x-proxy", "1")]), ends: true))
      })
    #expect(refused?.code == .permissionDenied && refused?.initialMetadata["x-proxy"] == "1")
    let reset = Self.error(try await OddServer.unary { peer, id in peer.send(.reset(id, 8)) })
    #expect(reset?.code == .cancelled && reset?.initialMetadata.isEmpty == true)
  }

  @Test("What this side makes of an answer has them: a message that cannot be read, the deadline, a stream cut off")
  func own() async throws {
    let headers = OddServer.headers("application/grpc", [("x-early", "1")])
    let unreadable = Self.error(
      try await OddServer.unary { peer, id in
        peer.send(
          .headers(id, headers), .data(id, HTTP2Peer.message([0xff])),
          .headers(id, HPACK.block([("grpc-status", "0")]), ends: true))
      })
    #expect(unreadable?.code == .internal && unreadable?.initialMetadata["x-early"] == "1")
    let late = Self.error(
      try await OddServer.unary(options: .timeout(.milliseconds(300))) { peer, id in peer.send(.headers(id, headers)) })
    #expect(late?.code == .deadlineExceeded && late?.initialMetadata["x-early"] == "1")
    let cut = Self.error(try await OddServer.unary { peer, id in peer.send(.headers(id, headers), .reset(id, 2)) })
    #expect(cut?.code == .internal && cut?.initialMetadata["x-early"] == "1")
  }

  @Test("Of several attempts it is those of the last")
  func retried() async throws {
    var configuration = ClientChannelConfiguration()
    configuration.serviceConfig = try ServiceConfig(
      json: """
        {"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":2,"initialBackoff":"0.01s","maxBackoff":"0.01s",
        "backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}
        """)
    let first: OddServer.Script = { peer, id in
      peer.send(.headers(id, OddServer.headers("text/html", status: "503", [("x-attempt", "1")]), ends: true))
    }
    let second: OddServer.Script = { peer, id in
      peer.send(
        .headers(id, OddServer.headers("application/grpc", [("x-attempt", "2")])),
        .headers(id, HPACK.block([("grpc-status", "14")]), ends: true))
    }
    let seen = Mutex<RPCError?>(nil)
    try await OddServer.run([first, second], in: configuration) { client, _ in
      do throws(RPCError) { _ = try await client.echo(.init(text: "x")) } catch { seen.withLock { $0 = error } }
    }
    let error = seen.withLock { $0 }
    #expect(error?.code == .unavailable && error?.initialMetadata.values(of: "x-attempt") == ["2"])
  }

  @Test("A handler that passes such an error on sends none of them")
  func passedOn() async throws {
    let failing = EchoHandlers { _, _ in
      var error = RPCError(.notFound, "gone", metadata: ["x-late": "3"])
      error.initialMetadata = ["x-private": "1"]
      throw error
    }
    try await EchoServer.run(handlers: failing) { server, clients in
      for wire in ClientChannelConfiguration.Wire.allCases {
        let channel = try server.channel(on: clients, configuration: Self.configuration(wire))
        do throws(RPCError) {
          _ = try await EchoService.Client(channel).echo(.init(text: "x"))
          Issue.record("no error")
        } catch {
          #expect(error.code == .notFound && error.metadata["x-late"] == "3")
          #expect(error.metadata["x-private"] == nil && error.initialMetadata["x-private"] == nil)
        }
        await channel.close()
      }
    }
  }

  private static func error(_ result: Result<ClientResponse<EchoResponse>, RPCError>) -> RPCError? {
    if case .failure(let error) = result { error } else { nil }
  }
}

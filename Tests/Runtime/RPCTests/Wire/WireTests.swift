import EventLoop
import RPCServer
import TestSupport
import Testing

/// What a peer may say on the wire, and what the server answers: gRPC over HTTP/2, requests.
@Suite("gRPC on the wire")
struct WireTests {
  /// One connection to a fresh server.
  private func peer(
    _ configuration: RPCServerConfiguration = .init(),
    _ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  ) async throws {
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      do { try await body(peer, server) } catch {
        peer.close()
        throw error
      }
      try await peer.probe(1_001)
      #expect(server.incidents.isEmpty)
      peer.close()
    }
  }

  @Test("The response has a status line, a content type, one message and trailers")
  func shape() async throws {
    try await peer { peer, _ in
      peer.call(1, "Echo", [0x0a, 0x02, 0x68, 0x69])
      let response = try await peer.response(1)
      #expect(response.headers.count == 2)
      #expect(response.headers[0].map(\.0) == [":status", "content-type"])
      #expect(response.headers[0].map(\.1) == ["200", "application/grpc"])
      #expect(response.body == [0, 0, 0, 0, 4, 0x0a, 0x02, 0x68, 0x69])
      #expect(response.headers[1].map(\.0) == ["grpc-status"])
      #expect(response.resetCode == nil)
    }
  }

  @Test(
    "The content types of gRPC are taken",
    arguments: ["application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"])
  func contentTypes(_ type: String) async throws {
    try await peer { peer, _ in
      peer.send(
        .headers(
          1,
          HPACK.block([
            (":method", "POST"), (":scheme", "http"), (":path", "/parley.testing.v1.EchoService/Echo"), (":authority", "test"),
            ("content-type", type),
          ])))
      peer.sendBody(1, HTTP2Peer.message([]))
      let first = try await peer.response(1).status
      #expect(first == 0)
    }
  }

  @Test(
    "Any other content type is 415",
    arguments: ["application/xml", "application/grpc-web-text", "application/grpcx", "application/grpc+foo", "text/plain", ""])
  func otherContentTypes(_ type: String) async throws {
    try await peer { peer, _ in
      let extra = type.isEmpty ? [] : [("content-type", type)]
      peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/parley.testing.v1.EchoService/Echo", extra)))
      peer.sendBody(1, HTTP2Peer.message([]))
      let first = try await peer.response(1).value(":status")
      #expect(first == "415")
    }
  }

  @Test("GET on the path of an RPC is 405, and says what is allowed")
  func method() async throws {
    try await peer { peer, _ in
      let headers = HTTP2Peer.httpHeaders("GET", "/parley.testing.v1.EchoService/Fail", [("content-type", "application/grpc")])
      peer.send(.headers(1, headers, ends: true))
      let response = try await peer.response(1)
      #expect(response.value(":status") == "405")
      #expect(response.value("allow") == "POST")
    }
  }

  @Test("No message is UNIMPLEMENTED, two are too", arguments: [0, 2, 3])
  func cardinality(_ count: Int) async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo"), ends: false))
      peer.sendBody(1, (0..<count).flatMap { _ in HTTP2Peer.message([0x18, 1]) })
      let first = try await peer.response(1).status
      #expect(first == 12)
      peer.send(.headers(3, HTTP2Peer.grpcHeaders("Echo"), ends: true))
      let second = try await peer.response(3).status
      #expect(second == 12)
    }
  }

  @Test("Two large messages in a unary call are refused, though neither window lets them in whole")
  func twoLargeMessages() async throws {
    try await peer { peer, _ in
      peer.isPolite = true
      let message = HTTP2Peer.message([UInt8](repeating: 0, count: 250_000))
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")))
      // As much as the stream's window of 256 KiB allows, and then nothing: the rest would have to wait for a window.
      peer.sendBody(1, Array((message + message).prefix(262_144)), ends: false)
      let first = try await peer.response(1).status
      #expect(first == 12)
    }
  }

  @Test("A message at the limit is taken, one byte more is RESOURCE_EXHAUSTED")
  func sizeLimit() async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumRequestBytes = 100_000
    try await peer(configuration) { peer, _ in
      // A bytes field: tag, three bytes of length, content.
      let content = 100_000 - 4
      let atLimit: [UInt8] = [0x12, UInt8(content & 127 | 128), UInt8(content >> 7 & 127 | 128), UInt8(content >> 14)]
      peer.call(1, "Echo", atLimit + [UInt8](repeating: 7, count: content))
      let response = try await peer.response(1)
      #expect(response.status == 0)
      #expect(response.body.count == 100_005)
      peer.call(3, "Echo", [UInt8](repeating: 7, count: 100_001))
      #expect(try await peer.response(3).status == 8)
    }
  }

  @Test("A length that claims 4 GB is refused at once, whole status and all, and nothing is reserved for it")
  func lyingLength() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")))
      peer.send(.data(1, [0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]))
      let response = try await peer.response(1)
      #expect(response.status == 8)
      #expect(response.value("grpc-status-details-bin") == nil)
      #expect(response.resetCode == nil || response.resetCode == 0)
      // The peer goes on sending to the stream that it was told to stop: its bytes are not kept.
      for _ in 0..<50 { peer.send(.data(1, [UInt8](repeating: 0, count: 16_000))) }
    }
  }

  @Test("A 4 MiB message is refused from its prefix, before its bytes come")
  func justOverFourMebibytes() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")))
      peer.send(.data(1, [0] + HTTP2Frame.number(4 << 20 + 1)))
      let first = try await peer.response(1).status
      #expect(first == 8)
    }
  }

  @Test("A refusal before the request's end reaches the caller as a status", arguments: ["Nothing", "Echo"])
  func earlyRefusal(_ method: String) async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders(method, [("grpc-encoding", "br")])))
      let response = try await peer.response(1)
      #expect(response.status == 12)
    }
  }

  @Test("A message that is cut off is INTERNAL", arguments: [1, 4, 5, 7])
  func truncated(_ count: Int) async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")))
      peer.sendBody(1, Array(HTTP2Peer.message([0x18, 1, 0x18]).prefix(count)))
      let first = try await peer.response(1).status
      #expect(first == 13)
    }
  }

  @Test("The frames of a message may be cut anywhere")
  func fragments() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")))
      let bytes = HTTP2Peer.message([0x0a, 0x02, 0x68, 0x69])
      for (index, byte) in bytes.enumerated() {
        peer.send(.data(1, [byte]), .data(1, [], ends: index == bytes.count - 1))
      }
      let first = try await peer.response(1).body
      #expect(first == bytes)
    }
  }

  @Test("A compressed message without an encoding is INTERNAL")
  func compressedFlag() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")))
      peer.sendBody(1, HTTP2Peer.message([1, 2, 3], flags: 1))
      let first = try await peer.response(1).status
      #expect(first == 13)
    }
  }

  @Test("An encoding that is not spoken is UNIMPLEMENTED, and the answer says which are", arguments: ["br", "snappy", "x"])
  func encoding(_ name: String) async throws {
    try await peer { peer, _ in
      peer.call(1, "Echo", headers: [("grpc-encoding", name)])
      let response = try await peer.response(1)
      #expect(response.status == 12)
      #expect(response.value("grpc-accept-encoding") == "gzip,deflate,identity")
      peer.call(3, "Echo", headers: [("grpc-encoding", "identity")])
      #expect(try await peer.response(3).status == 0)
    }
  }

  @Test("Binary metadata is read padded and unpadded, and joined by commas; what is no base64 is left out")
  func binaryMetadata() async throws {
    try await peer { peer, _ in
      peer.call(
        1, "Metadata",
        headers: [("a-bin", "AAEC/w=="), ("a-bin", "AAEC/w"), ("b-bin", "AQ==,Ag, Aw"), ("c-bin", "!!!"), ("d", "x,y")])
      let response = try await peer.response(1)
      #expect(response.status == 0)
      let text = String(decoding: response.body, as: UTF8.self)
      #expect(text.contains("AAEC/w,AAEC/w"))
      #expect(text.contains("AQ,Ag,Aw"))
      #expect(text.contains("x,y"))
      #expect(!text.contains("c-bin"))
    }
  }

  @Test("What gRPC keeps for itself is no metadata")
  func reservedMetadata() async throws {
    try await peer { peer, _ in
      peer.call(1, "Metadata", headers: [("grpc-trace-bin", "AAAA"), ("grpc-anything", "x"), ("grpc-timeout", "9S")])
      let text = String(decoding: try await peer.response(1).body, as: UTF8.self)
      #expect(!text.contains("grpc-"))
    }
  }

  @Test("Trailers of a request are ignored")
  func requestTrailers() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo")), .data(1, HTTP2Peer.message([0x18, 1])))
      peer.send(.headers(1, HPACK.block([("x-checksum", "1")]), ends: true))
      let first = try await peer.response(1).status
      #expect(first == 0)
    }
  }

  @Test(
    "An HTTP/1.1 request or noise ends the connection, and no other",
    arguments: ["GET / HTTP/1.1\r\nhost: x\r\n\r\n", "\u{0}\u{1}\u{2}noise", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnoise noise noise"])
  func garbage(_ text: String) async throws {
    try await peer { peer, server in
      let other = try HTTP2Peer.connect(to: server.address, on: peer.loop)
      other.send(Array(text.utf8))
      try await other.closed()
    }
  }
}

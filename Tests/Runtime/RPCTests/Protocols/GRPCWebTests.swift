import EventLoop
import RPC
import RPCServer
import TestSupport
import Testing

@Suite("gRPC-Web on the wire")
struct GRPCWebTests {
  private static let type = "application/grpc-web+proto"

  @Test("A unary response is one message and one envelope of trailers, without HTTP trailers")
  func shape() async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.type, HTTP2Peer.message([0x0a, 1, 0x61]))
      #expect(response.headers.count == 1)
      #expect(response.headers[0].map(\.0) == [":status", "content-type"])
      #expect(
        response.body == [0, 0, 0, 0, 3, 0x0a, 1, 0x61] + [0x80, 0, 0, 0, 16] + Array("grpc-status: 0\r\n".utf8))
    }
  }

  @Test("A call that fails at once has its status in the headers and no body")
  func trailersOnly() async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Fail", Self.type, HTTP2Peer.message([0x08, 5, 0x12, 1, 0x25]))
      #expect(response.status == 5 && response.value("grpc-message") == "%25" && response.body.isEmpty)
      #expect(response.headers.count == 1 && response.isEnded)
    }
  }

  @Test(
    "Headers that a handler set go before the status of a call that fails, as with gRPC", arguments: [type, "application/grpc"])
  func failedHeaders(_ type: String) async throws {
    let both = BeforeCall { call in
      call.initialMetadata["x-first"] = "early"
      call.trailingMetadata["x-last"] = "late"
    }
    try await ProtocolPeer.run(interceptors: [both]) { peer, _ in
      let response = try await peer.answer(1, "Fail", type, HTTP2Peer.message([0x08, 5]))
      let first = response.headers[0].map(\.0)
      #expect(first.contains("x-first") && !first.contains("x-last") && !first.contains("grpc-status"))
      if type == Self.type {
        #expect(response.headers.count == 1)
        #expect(response.webTrailers == ["grpc-status: 5", "x-last: late"])
      } else {
        #expect(response.headers.count == 2 && response.body.isEmpty)
        #expect(response.headers[1].map(\.0) == ["grpc-status", "x-last"])
      }
    }
  }

  @Test("Metadata goes into headers and into the last envelope, bytes in base64")
  func metadata() async throws {
    let both = BeforeCall { call in
      call.initialMetadata["x-first"] = "early"
      call.trailingMetadata["x-last"] = "late"
      call.trailingMetadata.append("x-last-bin", [0, 255])
    }
    try await ProtocolPeer.run(interceptors: [both]) { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.type, HTTP2Peer.message([]))
      #expect(response.value("x-first") == "early" && response.value("x-last") == nil)
      #expect(response.webTrailers == ["grpc-status: 0", "x-last: late", "x-last-bin: AP8"])
    }
  }

  @Test("A stream that fails late tells it in the last envelope, details and all")
  func lateFailure() async throws {
    try await ProtocolPeer.run(interceptors: [FailsLate()]) { peer, _ in
      let response = try await peer.answer(1, "Count", Self.type, HTTP2Peer.message([0x08, 2]))
      #expect(response.envelopes.map(\.flags) == [0, 0, 0x80])
      #expect(response.webTrailers.contains("grpc-status: 10") && response.webTrailers.contains("grpc-message: late"))
      #expect(response.webTrailers.contains { $0.hasPrefix("grpc-status-details-bin: ") })
      #expect(response.webTrailers.contains("x-why: because"))
      #expect(response.headers.count == 1)
    }
  }

  @Test("Streams in and both ways work where the connection can carry them")
  func streams() async throws {
    try await ProtocolPeer.run { peer, _ in
      let sum = try await peer.answer(1, "Sum", Self.type, HTTP2Peer.message([0x08, 2]) + HTTP2Peer.message([0x08, 3]))
      #expect(sum.envelopes.map(\.bytes).first == [0x08, 5, 0x10, 2])
      peer.post(3, "Chat", Self.type, HTTP2Peer.message([0x0a, 1, 0x61]), ends: false)
      try await peer.wait("the first answer") { HTTP2Peer.messages(in: peer.streams[3]?.body ?? []).count == 1 }
      peer.sendBody(3, HTTP2Peer.message([0x0a, 1, 0x62]))
      let chat = try await peer.response(3)
      #expect(chat.envelopes.map(\.flags) == [0, 0, 0x80])
    }
  }

  @Test("No message and two are UNIMPLEMENTED, on unary calls and server streams", arguments: ["Echo", "Count"], [0, 2])
  func cardinality(_ method: String, _ count: Int) async throws {
    try await ProtocolPeer.run { peer, _ in
      let body = (0..<count).flatMap { _ in HTTP2Peer.message([]) }
      let response = try await peer.answer(1, method, Self.type, body)
      #expect(response.status == 12)
    }
  }

  @Test("JSON and gzip work as they do in gRPC")
  func codecs() async throws {
    var configuration = RPCServerConfiguration()
    configuration.responseCompression = .gzip
    configuration.minimumCompressedBytes = 1
    try await ProtocolPeer.run(configuration) { peer, _ in
      let text = #"{"text":"\#(String(repeating: "a", count: 500))"}"#
      let body = HTTP2Peer.message(ProtocolPeer.compressed(Array(text.utf8)), flags: 1)
      let response = try await peer.answer(
        1, "Echo", "application/grpc-web+json", body, [("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip")])
      #expect(response.value("grpc-encoding") == "gzip" && response.envelopes.map(\.flags) == [1, 0x80])
      #expect(ProtocolPeer.restored(response.envelopes[0].bytes) == Array(text.utf8))
    }
  }

  @Test("The deadline is told in the last envelope too", arguments: [("Sleep", "application/grpc-web")])
  func deadline(_ method: String, _ type: String) async throws {
    try await ProtocolPeer.run { peer, server in
      let response = try await peer.answer(1, method, type, HTTP2Peer.message([]), [("grpc-timeout", "50m")])
      #expect(response.status == 4)
      try await server.handlers.cancelled.reaches(1)
      let malformed = try await peer.answer(3, "Echo", type, HTTP2Peer.message([]), [("grpc-timeout", "x")])
      #expect(malformed.status == 3)
    }
  }
}

/// Fails when the handler is done, in streams.
struct FailsLate: ServerInterceptor {
  func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    try await next(call)
    guard call.method.kind != .unary else { return }
    throw RPCError(
      .aborted, "late", details: [.errorInfo(reason: "LATE", domain: "test", metadata: [:])], metadata: ["x-why": "because"])
  }
}

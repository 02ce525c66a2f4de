import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

/// What a client makes of odd answers in gRPC-Web.
@Suite("Odd answers in gRPC-Web")
struct WebWireTests {
  private static let configuration = WireKind(wire: .grpcWeb, codec: .proto).configuration
  private static let one = HTTP2Peer.message([0x08, 1])

  private static func trailers(_ text: String, flags: UInt8 = 0x80) -> [UInt8] {
    HTTP2Peer.message(Array(text.utf8), flags: flags)
  }

  private func stream(
    _ body: [UInt8], type: String = "application/grpc-web", _ fields: [(String, String)] = []
  ) async throws -> (numbers: [Int32], error: RPCError?) {
    try await OddServer.stream(in: Self.configuration) { peer, id in
      peer.send(.headers(id, OddServer.headers(type, fields)), .data(id, body, ends: true))
    }
  }

  @Test("Trailers are read in any case, with or without a blank, and their metadata with them")
  func trailers() async throws {
    for text in [
      "grpc-status: 9\r\ngrpc-message: an%20error\r\nx-late: 1\r\nx-late: 2\r\n",
      "Grpc-Status:9\r\ngRPC-Message:an error\r\nX-Late:1\r\nx-LATE: 2",
    ] {
      let outcome = try await stream(Self.one + Self.trailers(text))
      #expect(outcome.numbers == [1])
      #expect(outcome.error?.code == .failedPrecondition && outcome.error?.message == "an error")
      #expect(outcome.error?.metadata.values(of: "x-late") == ["1", "2"])
    }
    #expect(try await stream(Self.one + Self.trailers("grpc-status: 0\r\n")).error == nil)
  }

  @Test("Trailers may be compressed")
  func compressedTrailers() async throws {
    let block = HTTP2Peer.message(ProtocolPeer.compressed(Array("grpc-status: 10\r\n".utf8)), flags: 0x81)
    #expect(try await stream(Self.one + block, [("grpc-encoding", "gzip")]).error?.code == .aborted)
  }

  @Test("Without trailers, or without a status in them, a call has not succeeded")
  func noTrailers() async throws {
    #expect(try await stream(Self.one).error?.code == .internal)
    #expect(try await stream(Self.one + Self.trailers("grpc-message: x\r\n")).error?.code == .unknown)
    #expect(try await stream(Self.one + Self.trailers("no colon")).error?.code == .internal)
    #expect(try await stream(Self.one + Self.trailers("grpc-status: 0\r\n").prefix(9)).error?.code == .internal)
    #expect(try await stream(Self.one, type: "image/jpeg").error?.code == .unknown)
    #expect(try await stream(Self.one, type: "application/grpc").error?.code == .unknown)
    #expect(try await stream(Self.one, type: "application/grpc-web+json").error?.code == .internal)
  }

  @Test("A status in the headers counts only without a body")
  func headersOnly() async throws {
    let body = try await stream(Self.trailers("grpc-status: 9\r\n"), [("grpc-status", "8")])
    #expect(body.error?.code == .failedPrecondition)
    let outcome = try await OddServer.stream(in: Self.configuration) { peer, id in
      let fields = [("grpc-status", "9"), ("grpc-message", "no"), ("x-late", "1")]
      peer.send(.headers(id, OddServer.headers("application/grpc-web", fields), ends: true))
    }
    #expect(outcome.error?.code == .failedPrecondition && outcome.error?.metadata["x-late"] == "1")
  }

  @Test("One response is due where one is due")
  func cardinality() async throws {
    let message = HTTP2Peer.message([0x0a, 1, 0x79])
    let end = Self.trailers("grpc-status: 0\r\n")
    for (body, expected) in [(end, StatusCode.unimplemented), (message + message + end, .unimplemented), (message + end, .ok)] {
      let result = try await OddServer.unary(in: Self.configuration) { peer, id in
        peer.send(.headers(id, OddServer.headers("application/grpc-web")), .data(id, body, ends: true))
      }
      var code = StatusCode.ok
      if case .failure(let error) = result { code = error.code }
      #expect(code == expected)
    }
  }
}

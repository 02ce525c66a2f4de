import EventLoop
import MessagesCore
import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

/// JF-04. Messages of no bytes whose flag says that they are compressed.
@Suite("Empty messages that claim to be compressed")
struct EmptyFrameTests {
  static let empty = HTTP2Peer.message([], flags: 1)

  /// A good answer in one protocol, but for its messages and their encoding.
  private static func answer(
    _ wire: ClientChannelConfiguration.Wire, _ encoding: String?, _ messages: [UInt8]
  ) -> OddServer.Script {
    let name = wire == .connect ? "connect-content-encoding" : "grpc-encoding"
    let fields = encoding.map { [(name, $0)] } ?? []
    return { peer, id in
      switch wire {
      case .grpc:
        peer.send(
          .headers(id, OddServer.headers("application/grpc", fields)), .data(id, messages),
          .headers(id, HPACK.block([("grpc-status", "0")]), ends: true))
      case .grpcWeb:
        let end = HTTP2Peer.message(Array("grpc-status: 0\r\n".utf8), flags: 0x80)
        peer.send(.headers(id, OddServer.headers("application/grpc-web", fields)), .data(id, messages + end, ends: true))
      case .connect:
        let end = HTTP2Peer.message(Array("{}".utf8), flags: 2)
        peer.send(.headers(id, OddServer.headers("application/connect+proto", fields)), .data(id, messages + end, ends: true))
      }
    }
  }

  @Test(
    "Without an encoding, or under identity, one is refused in a stream and as the one answer of a call",
    arguments: ClientChannelConfiguration.Wire.allCases, [nil, "identity"])
  func refused(_ wire: ClientChannelConfiguration.Wire, _ encoding: String?) async throws {
    let configuration = WireKind(wire: wire, codec: .proto).configuration
    let stream = try await OddServer.stream(in: configuration, Self.answer(wire, encoding, Self.empty))
    #expect(stream.numbers.isEmpty && stream.error?.code == .internal)
    try await OddServer.run([Self.answer(wire, encoding, Self.empty)], in: configuration) { client, _ in
      #expect(await Self.error { _ = try await client.sum { _ in } }?.code == .internal)
    }
    // The one answer of a unary call of Connect has no flag.
    guard wire != .connect else { return }
    let unary = try await OddServer.unary(in: configuration, Self.answer(wire, encoding, Self.empty))
    #expect(throws: RPCError.self) { try unary.get() }
  }

  @Test("Under gzip nothing is nothing, and so is what gzip makes of it", arguments: ClientChannelConfiguration.Wire.allCases)
  func accepted(_ wire: ClientChannelConfiguration.Wire) async throws {
    let two = Self.empty + HTTP2Peer.message(ProtocolPeer.compressed([]), flags: 1)
    let stream = try await OddServer.stream(
      in: WireKind(wire: wire, codec: .proto).configuration, Self.answer(wire, "gzip", two))
    #expect(stream.numbers == [0, 0] && stream.error == nil)
  }

  @Test(
    "A server refuses one in a request, too",
    arguments: ["application/grpc", "application/grpc-web", "application/connect+proto"], [nil, "identity"])
  func requests(_ type: String, _ encoding: String?) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let name = type.contains("connect") ? "connect-content-encoding" : "grpc-encoding"
      let fields = [("te", "trailers"), ("content-type", type)] + (encoding.map { [(name, $0)] } ?? [])
      let head = HTTP2Peer.httpHeaders("POST", "/parley.testing.v1.EchoService/Count", fields)
      peer.send(.headers(1, head), .data(1, Self.empty, ends: true))
      let response = try await peer.response(1)
      let body = String(decoding: response.body, as: UTF8.self)
      #expect(response.value("grpc-status") == "13" || body.contains("grpc-status: 13") || body.contains(#""code":"internal""#))
      peer.close()
    }
  }

  private static func error(_ body: () async throws -> Void) async -> RPCError? {
    do {
      try await body()
      return nil
    } catch { return error as? RPCError }
  }
}

import EventLoop
import HTTP2
import JSON
import RPC
import RPCServer
import TestSupport
import Testing

@Suite("Which protocol a request speaks")
struct DispatchTests {
  private static let binary: [UInt8] = [0x0a, 0x02, 0x68, 0x69]
  private static let text = Array(#"{"text":"hi"}"#.utf8)

  @Test(
    "Each content type is answered in its own protocol and codec",
    arguments: [
      ("application/grpc", "application/grpc", "grpc"), ("application/grpc+proto", "application/grpc", "grpc"),
      ("application/grpc+json", "application/grpc+json", "grpc"),
      ("application/grpc-web", "application/grpc-web+proto", "grpc-web"),
      ("application/grpc-web+proto", "application/grpc-web+proto", "grpc-web"),
      ("application/grpc-web+json; charset=utf-8", "application/grpc-web+json", "grpc-web"),
      ("application/proto", "application/proto", "connect"), ("application/json", "application/json", "connect"),
      ("Application/JSON; charset=UTF-8", "application/json", "connect"),
    ])
  func unary(_ sent: String, _ answered: String, _ name: String) async throws {
    let isJSON = answered.hasSuffix("json")
    let message = isJSON ? Self.text : Self.binary
    let names = BeforeCall { $0.initialMetadata["x-protocol"] = $0.protocolName }
    try await ProtocolPeer.run(interceptors: [names]) { peer, _ in
      let isBare = name == "connect"
      let response = try await peer.answer(1, "Echo", sent, isBare ? message : HTTP2Peer.message(message))
      #expect(response.value(":status") == "200")
      #expect(response.value("content-type") == answered)
      #expect(response.value("x-protocol") == name)
      #expect((isBare ? response.body : response.envelopes.first?.bytes) == message)
    }
  }

  @Test(
    "The streams of Connect have content types of their own",
    arguments: [("application/connect+proto", [0x08, 0x01]), ("application/connect+json", Array(#"{"to":1}"#.utf8))])
  func streams(_ type: String, _ message: [UInt8]) async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Count", type, HTTP2Peer.message(message))
      #expect(response.value("content-type") == type)
      #expect(response.envelopes.map(\.flags) == [0, 2])
    }
  }

  @Test(
    "What is no content type of the method is 415, and the answer lists those that are",
    arguments: [
      ("Echo", "image/jpeg"), ("Echo", "application/connect+json"), ("Echo", "application/connect+proto"),
      ("Echo", "application/connect"), ("Echo", "application/grpc+foo"), ("Echo", "application/grpc-web-text"),
      ("Echo", "application/grpc-web-text+proto"), ("Echo", "application/foo"), ("Count", "application/json"),
      ("Sum", "application/proto"), ("Chat", "application/connect+xml"), ("Chat", ""),
    ])
  func refused(_ method: String, _ type: String) async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, method, type, Self.text)
      #expect(response.value(":status") == "415")
      let accepted = response.value("accept-post") ?? ""
      #expect(accepted.contains(method == "Echo" ? "application/json" : "application/connect+json"))
      #expect(accepted.contains("application/grpc-web+proto") && !accepted.contains("foo"))
    }
  }

  @Test(
    "Another HTTP method is 405",
    arguments: [
      ("DELETE", "Echo", "GET, POST"), ("HEAD", "Echo", "GET, POST"), ("PUT", "Echo", "GET, POST"), ("GET", "Fail", "POST"),
      ("GET", "Count", "POST"), ("HEAD", "Fail", "POST"), ("OPTIONS", "Echo", "GET, POST"),
    ])
  func methods(_ method: String, _ name: String, _ allowed: String) async throws {
    try await ProtocolPeer.run { peer, _ in
      for (stream, type) in zip([UInt32(1), 3, 5], ["application/json", "application/grpc", "application/grpc-web"]) {
        let headers = HTTP2Peer.httpHeaders(method, ProtocolPeer.service + name, [("content-type", type)])
        peer.send(.headers(stream, headers, ends: true))
        let response = try await peer.response(stream)
        #expect(response.value(":status") == "405")
        #expect(response.value("allow") == allowed)
        #expect(response.status == nil)
      }
    }
  }

  @Test("An unknown path is UNIMPLEMENTED in the form of each protocol")
  func unknownPath() async throws {
    try await ProtocolPeer.run { peer, _ in
      let grpc = try await peer.answer(1, "Nothing", "application/grpc+json", HTTP2Peer.message([]))
      #expect(grpc.status == 12 && grpc.headers.count == 1)
      let web = try await peer.answer(3, "Nothing", "application/grpc-web", HTTP2Peer.message([]))
      #expect(web.status == 12 && web.body.isEmpty && web.value("content-type") == "application/grpc-web+proto")
      let unary = try await peer.answer(5, "Nothing", "application/proto", [])
      #expect(unary.value(":status") == "404" && unary.code == "unimplemented")
      #expect(unary.value("content-type") == "application/json")
      let json = try await peer.answer(7, "Nothing", "application/json", Self.text, [("connect-protocol-version", "1")])
      #expect(json.value(":status") == "404" && json.code == "unimplemented")
      let stream = try await peer.answer(9, "Nothing", "application/connect+json", HTTP2Peer.message([]))
      #expect(stream.value(":status") == "200" && stream.endCode == "unimplemented")
    }
  }

  @Test("JSON that says nothing of Connect is plain HTTP where no method is")
  func plainJSON() async throws {
    try await ProtocolPeer.run(fallback: { _ in .text(404, "nobody here") }) { peer, _ in
      let response = try await peer.answer(1, "Nothing", "application/json", Self.text)
      #expect(response.value(":status") == "404" && response.text == "nobody here")
    }
  }

  @Test("A header list that is too long is refused in the form of each protocol")
  func headersTooLarge() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.headerListBytes = 2_000
    try await ProtocolPeer.run(configuration) { peer, _ in
      let long = [("x-long", String(repeating: "x", count: 2_000))]
      let grpc = try await peer.answer(1, "Echo", "application/grpc", HTTP2Peer.message([]), long)
      #expect(grpc.status == 8)
      let web = try await peer.answer(3, "Echo", "application/grpc-web", HTTP2Peer.message([]), long)
      #expect(web.status == 8)
      let unary = try await peer.answer(5, "Echo", "application/json", Self.text, long)
      #expect(unary.value(":status") == "429" && unary.code == "resource_exhausted")
      let stream = try await peer.answer(7, "Chat", "application/connect+proto", HTTP2Peer.message([]), long)
      #expect(stream.endCode == "resource_exhausted")
      let plain = try await peer.answer(9, "Nothing", "text/plain", Self.text, long)
      #expect(plain.value(":status") == "431")
    }
  }

  @Test(
    "A reset ends the handler in every protocol", arguments: ["application/grpc-web", "application/json", "application/proto"])
  func cancelled(_ type: String) async throws {
    try await ProtocolPeer.run { peer, server in
      let message: [UInt8] = type.hasSuffix("json") ? Array("{}".utf8) : []
      peer.post(1, "Sleep", type, type.hasPrefix("application/grpc") ? HTTP2Peer.message(message) : message)
      try await server.handlers.sleeping.reaches(1)
      peer.send(.reset(1, 8))
      try await server.handlers.cancelled.reaches(1)
    }
  }
}

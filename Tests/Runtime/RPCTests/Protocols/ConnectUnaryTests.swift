import EventLoop
import JSON
import RPC
import RPCServer
import TestSupport
import Testing

@Suite("Connect, unary calls")
struct ConnectUnaryTests {
  private static let json = "application/json"
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test("A response is the bare message, with its length")
  func shape() async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.json, Self.bytes(#"{"text":"hi","sequence":"7"}"#))
      #expect(response.headers.count == 1)
      #expect(response.headers[0].map(\.0) == [":status", "content-type", "content-length"])
      #expect(response.text == #"{"text":"hi","sequence":"7"}"# && response.value("content-length") == "28")
      let empty = try await peer.answer(3, "Echo", "application/proto", [])
      #expect(empty.value(":status") == "200" && empty.body.isEmpty && empty.value("content-length") == "0" && empty.isEnded)
    }
  }

  @Test("Metadata goes out as headers, trailing metadata behind `trailer-`")
  func metadata() async throws {
    try await ProtocolPeer.run { peer, _ in
      let request = #"{"initial":{"x-first":"early","x-first-bin":"\u0001"},"trailing":{"x-last":"late","x-last-bin":"\u0002"}}"#
      let response = try await peer.answer(
        1, "Metadata", Self.json, Self.bytes(request),
        [("x-one", "1"), ("x-bytes-bin", "AAEC/w"), ("connect-protocol-version", "1"), ("accept-encoding", "br")])
      #expect(response.value("x-first") == "early" && response.value("x-first-bin") == "AQ")
      #expect(response.value("trailer-x-last") == "late" && response.value("trailer-x-last-bin") == "Ag")
      let received = response.json["received"]
      #expect(received?["x-one"]?.string == "1" && received?["x-bytes-bin"]?.string == "AAEC/w")
      #expect(received?["connect-protocol-version"] == nil && received?["accept-encoding"] == nil)
      #expect(received?["content-type"] == nil)
    }
  }

  @Test(
    "Every code has its name and its HTTP status",
    arguments: [
      (1, "canceled", "499"), (2, "unknown", "500"), (3, "invalid_argument", "400"), (4, "deadline_exceeded", "504"),
      (5, "not_found", "404"), (6, "already_exists", "409"), (7, "permission_denied", "403"), (8, "resource_exhausted", "429"),
      (9, "failed_precondition", "400"), (10, "aborted", "409"), (11, "out_of_range", "400"), (12, "unimplemented", "501"),
      (13, "internal", "500"), (14, "unavailable", "503"), (15, "data_loss", "500"), (16, "unauthenticated", "401"),
    ])
  func codes(_ number: Int, _ name: String, _ status: String) async throws {
    try await ProtocolPeer.run { peer, _ in
      let request = Self.bytes(#"{"code":\#(number),"message":"größer\n","reason":"NOT_TODAY"}"#)
      let response = try await peer.answer(1, "Fail", Self.json, request)
      #expect(response.value(":status") == status && response.code == name)
      #expect(response.json["message"]?.string == "größer\n")
      #expect(response.value("content-type") == "application/json")
      #expect(response.value("content-length") == "\(response.body.count)")
      let binary = try await peer.answer(3, "Fail", "application/proto", [0x08, UInt8(number)])
      #expect(binary.code == name && binary.value("content-type") == "application/json")
    }
  }

  @Test("Details are carried as bytes, and as JSON where their type is known")
  func details() async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Fail", Self.json, Self.bytes(#"{"code":9,"reason":"NOT_TODAY"}"#))
      let details = response.json["details"]?.array ?? []
      #expect(
        details.map { $0["type"]?.string } == [
          "google.rpc.ErrorInfo", "google.rpc.RetryInfo", "google.rpc.BadRequest", "test.Other",
        ])
      #expect(details.first?["debug"]?["reason"]?.string == "NOT_TODAY")
      #expect(details.first?["debug"]?["metadata"]?["key"]?.string == "value")
      #expect(details.dropFirst().first?["debug"]?["retryDelay"]?.string == "1.500s")
      // retry_delay = 1: seconds = 1, nanos = 500,000,000; without padding.
      #expect(details.dropFirst().first?["value"]?.string == "CggIARCAyrXuAQ")
      #expect(details.last?["value"]?.string == "AAH/" && details.last?["debug"] == nil)
    }
  }

  @Test("The metadata of an error comes with it, and what HTTP has a header for is said there too")
  func errorMetadata() async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumRunningHandlers = 0
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let response = try await peer.answer(1, "Echo", Self.json, Self.bytes("{}"))
      #expect(response.value(":status") == "429" && response.code == "resource_exhausted")
      #expect(response.value("trailer-retry-after") == "1" && response.value("retry-after") == "1")
      let stream = try await peer.answer(3, "Count", "application/connect+json", HTTP2Peer.message(Self.bytes("{}")))
      #expect(stream.endCode == "resource_exhausted")
      #expect(stream.end["metadata"]?["retry-after"]?.array?.first?.string == "1")
      peer.close()
    }
  }

  @Test("An unexpected error tells an incident id and nothing else")
  func incident() async throws {
    try await ProtocolPeer.run(expectingIncidents: 1) { peer, server in
      let response = try await peer.answer(1, "Fail", Self.json, Self.bytes(#"{"code":99,"message":"hunter2"}"#))
      #expect(response.value(":status") == "500" && response.code == "internal")
      #expect(!response.text.contains("hunter2"))
      #expect(response.text.contains(try #require(server.incidents.first).id))
    }
  }

  @Test(
    "A timeout that is malformed is invalid_argument", arguments: ["", "x", "-1", "1.5", "1S", "12345678901"])
  func badTimeout(_ timeout: String) async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.json, Self.bytes("{}"), [("connect-timeout-ms", timeout)])
      #expect(response.value(":status") == "400" && response.code == "invalid_argument")
    }
  }

  @Test("The deadline ends the call with 504 and cancels the handler; a long one does nothing")
  func deadline() async throws {
    try await ProtocolPeer.run { peer, server in
      let late = try await peer.answer(1, "Sleep", Self.json, Self.bytes("{}"), [("connect-timeout-ms", "50")])
      #expect(late.value(":status") == "504" && late.code == "deadline_exceeded")
      try await server.handlers.cancelled.reaches(1)
      let passed = try await peer.answer(3, "Echo", Self.json, Self.bytes("{}"), [("connect-timeout-ms", "0")])
      #expect(passed.code == "deadline_exceeded")
      let long = try await peer.answer(5, "Echo", Self.json, Self.bytes("{}"), [("connect-timeout-ms", "9999999999")])
      #expect(long.value(":status") == "200")
      // A request that never becomes whole ends at its deadline too.
      peer.post(7, "Echo", Self.json, Self.bytes("{"), [("connect-timeout-ms", "50")], ends: false)
      let unfinished = try await peer.response(7)
      #expect(unfinished.code == "deadline_exceeded")
    }
  }

  @Test("The version of the protocol may be missing, and must be 1", arguments: [("1", "200"), ("2", "400"), ("", "400")])
  func version(_ version: String, _ status: String) async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.json, Self.bytes("{}"), [("connect-protocol-version", version)])
      #expect(response.value(":status") == status)
    }
  }

  @Test(
    "JSON that is none, or of the wrong shape, is invalid_argument", arguments: ["", "{", "[]", "null", #"{"text":1}"#, "{}{}"])
  func badJSON(_ text: String) async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.json, Self.bytes(text))
      #expect(response.value(":status") == "400" && response.code == "invalid_argument")
    }
  }

  @Test("Members that the message does not know are ignored, or refused by configuration", arguments: [true, false])
  func unknownMembers(_ ignores: Bool) async throws {
    var configuration = RPCServerConfiguration()
    configuration.ignoresUnknownJSONFields = ignores
    try await ProtocolPeer.run(configuration) { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.json, Self.bytes(#"{"text":"a","colour":{"red":1}}"#))
      #expect(response.value(":status") == (ignores ? "200" : "400"))
    }
  }

  @Test("A body at the limit is taken, one byte more is resource_exhausted before it ends", arguments: [false, true])
  func limit(_ isCompressed: Bool) async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumRequestBytes = 300_000
    try await ProtocolPeer.run(configuration) { peer, _ in
      let headers = isCompressed ? [("content-encoding", "gzip")] : []
      var stream: UInt32 = 1
      for (count, status) in [(300_000, "200"), (300_001, "429")] {
        let message = ProtocolPeer.echo(ofBytes: count)
        let body = isCompressed ? ProtocolPeer.compressed(message) : message
        peer.post(stream, "Echo", "application/proto", [], headers, ends: false)
        // In pieces that the window of 256 KiB lets in.
        peer.sendBody(stream, Array(body.prefix(150_000)), ends: body.count <= 150_000)
        if body.count > 150_000 {
          let id = stream
          try await peer.wait("a window") { peer.frames.contains { $0.type == 8 && $0.stream == id } }
          peer.sendBody(stream, Array(body.dropFirst(150_000)))
        }
        let response = try await peer.response(stream)
        #expect(response.value(":status") == status)
        if status == "200" { #expect(response.body == message) }
        stream += 2
      }
    }
  }

  @Test("A bomb is resource_exhausted, and what is not gzip invalid_argument")
  func bomb() async throws {
    try await ProtocolPeer.run { peer, _ in
      let gzip = [("content-encoding", "gzip")]
      let bomb = ProtocolPeer.compressed([UInt8](repeating: 0, count: 60_000_000))
      let tooLarge = try await peer.answer(1, "Echo", "application/proto", bomb, gzip)
      #expect(tooLarge.code == "resource_exhausted")
      let malformed = try await peer.answer(3, "Echo", "application/proto", [1, 2, 3], gzip)
      #expect(malformed.code == "invalid_argument")
    }
  }

  @Test("Bodies are compressed both ways, and an empty one is not", arguments: [MessageCompression.gzip, .deflate])
  func compression(_ compression: MessageCompression) async throws {
    var configuration = RPCServerConfiguration()
    configuration.responseCompression = compression
    try await ProtocolPeer.run(configuration) { peer, _ in
      let message = ProtocolPeer.echo(ofBytes: 20_000)
      let name = compression.rawValue
      let body = ProtocolPeer.compressed(message, compression)
      let both = try await peer.answer(1, "Echo", "application/proto", body, [("content-encoding", name)])
      #expect(both.value("content-encoding") == name && ProtocolPeer.restored(both.body, compression) == message)
      #expect(both.value("content-length") == "\(both.body.count)")
      let plain = try await peer.answer(3, "Echo", "application/proto", message, [("accept-encoding", "br;q=1, identity")])
      #expect(plain.value("content-encoding") == nil && plain.body == message)
      let accepted = try await peer.answer(5, "Echo", "application/proto", message, [("accept-encoding", "br, \(name);q=0.5")])
      #expect(accepted.value("content-encoding") == name)
      let empty = try await peer.answer(7, "Echo", "application/proto", [], [("content-encoding", name)])
      #expect(empty.value(":status") == "200" && empty.value("content-encoding") == nil && empty.body.isEmpty)
    }
  }

  @Test("An encoding that is not spoken is unimplemented, and the answer says which are")
  func unknownEncoding() async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Echo", Self.json, Self.bytes("{}"), [("content-encoding", "br")])
      #expect(response.value(":status") == "501" && response.code == "unimplemented")
      #expect(response.value("accept-encoding") == "gzip,deflate,identity")
      #expect(response.json["message"]?.string?.contains("gzip") == true)
      let named = try await peer.answer(3, "Echo", Self.json, Self.bytes("{}"), [("content-encoding", "identity")])
      #expect(named.value(":status") == "200")
    }
  }
}

import EventLoop
import JSON
import RPC
import RPCServer
import TestSupport
import Testing

@Suite("Connect, streams")
struct ConnectStreamTests {
  private static let proto = "application/connect+proto"
  private static let json = "application/connect+json"
  private static func text(_ text: String) -> [UInt8] { HTTP2Peer.message(Array(text.utf8)) }

  @Test("A stream is messages in envelopes and an end in JSON, whatever the codec")
  func shape() async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Count", Self.proto, HTTP2Peer.message([0x08, 2]))
      #expect(response.headers.count == 1 && response.headers[0].map(\.0) == [":status", "content-type"])
      #expect(
        response.body == [0, 0, 0, 0, 2, 8, 1] + [0, 0, 0, 0, 2, 8, 2] + [2, 0, 0, 0, 2] + Array("{}".utf8))
      let json = try await peer.answer(3, "Count", Self.json, Self.text(#"{"to":1}"#))
      #expect(json.envelopes.map { String(decoding: $0.bytes, as: UTF8.self) } == [#"{"number":1}"#, "{}"])
      let none = try await peer.answer(5, "Count", Self.json, Self.text("{}"))
      #expect(none.envelopes.count == 1 && none.value(":status") == "200")
    }
  }

  @Test("Metadata goes into headers and into the end")
  func metadata() async throws {
    let both = BeforeCall { call in
      call.initialMetadata["x-first"] = "early"
      call.trailingMetadata.append("x-last", "1")
      call.trailingMetadata.append("x-last-bin", [0, 255])
      call.trailingMetadata.append("x-last", "2")
    }
    try await ProtocolPeer.run(interceptors: [both]) { peer, _ in
      let response = try await peer.answer(1, "Sum", Self.json, Self.text("{}"))
      #expect(response.value("x-first") == "early" && response.value("trailer-x-last") == nil)
      #expect(response.end["metadata"]?["x-last"]?.array?.compactMap(\.string) == ["1", "2"])
      #expect(response.end["metadata"]?["x-last-bin"]?.array?.compactMap(\.string) == ["AP8"])
    }
  }

  @Test("An error comes in the end, with details and metadata; the HTTP status stays 200")
  func failure() async throws {
    try await ProtocolPeer.run(interceptors: [FailsLate()]) { peer, _ in
      for (stream, method) in [(UInt32(1), "Count"), (3, "Sum"), (5, "Chat")] {
        let response = try await peer.answer(stream, method, Self.json, Self.text(method == "Count" ? #"{"to":2}"# : "{}"))
        #expect(response.value(":status") == "200" && response.endCode == "aborted", "\(method)")
        #expect(response.end["error"]?["message"]?.string == "late")
        #expect(response.end["error"]?["details"]?.array?.first?["debug"]?["reason"]?.string == "LATE")
        #expect(response.end["metadata"]?["x-why"]?.array?.first?.string == "because")
        // The one response of a client stream is dropped when the call fails; what a stream has sent stays.
        #expect(response.envelopes.count == (method == "Count" ? 3 : method == "Sum" ? 1 : 2), "\(method)")
      }
    }
  }

  @Test("Client streams and streams both ways work, each answer as soon as its question is read")
  func both() async throws {
    try await ProtocolPeer.run { peer, _ in
      let sum = try await peer.answer(1, "Sum", Self.json, Self.text(#"{"number":"2"}"#) + Self.text(#"{"number":3}"#))
      #expect(String(decoding: sum.envelopes[0].bytes, as: UTF8.self) == #"{"total":"5","count":2}"#)
      peer.post(3, "Chat", Self.json, Self.text(#"{"text":"a"}"#), ends: false)
      try await peer.wait("the first answer") { HTTP2Peer.messages(in: peer.streams[3]?.body ?? []).count == 1 }
      peer.sendBody(3, Self.text(#"{"text":"b"}"#))
      let chat = try await peer.response(3)
      #expect(chat.envelopes.map(\.flags) == [0, 0, 2])
      let empty = try await peer.answer(5, "Sum", Self.json)
      #expect(empty.envelopes.map(\.flags) == [0, 2])
    }
  }

  @Test("No request and two are unimplemented on a server stream", arguments: [0, 2])
  func cardinality(_ count: Int) async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(1, "Count", Self.proto, (0..<count).flatMap { _ in HTTP2Peer.message([]) })
      #expect(response.endCode == "unimplemented" && response.envelopes.count == 1)
    }
  }

  @Test(
    "Flags that a request cannot have, and compression that was not named, are refused",
    arguments: [(2, "invalid_argument"), (4, "invalid_argument"), (0x80, "invalid_argument"), (1, "internal")]
      as [(UInt8, String)])
  func flags(_ flags: UInt8, _ code: String) async throws {
    try await ProtocolPeer.run { peer, _ in
      let body = HTTP2Peer.message(Array("{}".utf8), flags: flags)
      let identity = [("connect-content-encoding", "identity")]
      let server = try await peer.answer(1, "Count", Self.json, body, identity)
      #expect(server.endCode == code)
      let both = try await peer.answer(3, "Chat", Self.json, body)
      #expect(both.endCode == code)
    }
  }

  @Test("Messages are compressed both ways under Connect's own headers")
  func compression() async throws {
    var configuration = RPCServerConfiguration()
    configuration.responseCompression = .gzip
    try await ProtocolPeer.run(configuration) { peer, _ in
      // payload_size = 2: one response of 5,000 zeros.
      let body = HTTP2Peer.message(ProtocolPeer.compressed([0x08, 1, 0x10, 0x88, 0x27]), flags: 1)
      let gzip = [("connect-content-encoding", "gzip"), ("connect-accept-encoding", "br,gzip")]
      let response = try await peer.answer(1, "Count", Self.proto, body, gzip)
      #expect(response.value("connect-content-encoding") == "gzip" && response.envelopes.map(\.flags) == [1, 2])
      #expect(ProtocolPeer.restored(response.envelopes[0].bytes)?.count == 5_005)
      let other = try await peer.answer(3, "Count", Self.proto, body, [("connect-content-encoding", "zstd")])
      #expect(other.endCode == "unimplemented" && other.value("connect-accept-encoding") == "gzip,deflate,identity")
      #expect(other.value(":status") == "200")
      let wrong = try await peer.answer(5, "Count", Self.proto, HTTP2Peer.message([1], flags: 1), gzip)
      #expect(wrong.endCode == "invalid_argument")
    }
  }

  @Test("A message over the limit is resource_exhausted, at the limit it is taken")
  func limit() async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumRequestBytes = 100_000
    try await ProtocolPeer.run(configuration) { peer, _ in
      let padded = { (count: Int) in Self.text(#"{"number":1}"# + String(repeating: " ", count: count - 12)) }
      let taken = try await peer.answer(1, "Sum", Self.json, padded(100_000) + padded(100_000))
      #expect(taken.endCode == nil && taken.envelopes.count == 2)
      let refused = try await peer.answer(3, "Sum", Self.json, padded(100_000) + padded(100_001))
      #expect(refused.endCode == "resource_exhausted")
    }
  }

  @Test("The deadline ends a stream with its code, and a malformed one refuses it; the version is checked too")
  func headers() async throws {
    try await ProtocolPeer.run { peer, _ in
      peer.post(1, "Chat", Self.json, Self.text(#"{"text":"a"}"#), [("connect-timeout-ms", "60")], ends: false)
      let late = try await peer.response(1)
      #expect(late.envelopes.count == 2 && late.endCode == "deadline_exceeded")
      let malformed = try await peer.answer(3, "Chat", Self.json, [], [("connect-timeout-ms", "1m")])
      #expect(malformed.endCode == "invalid_argument" && malformed.value(":status") == "200")
      let version = try await peer.answer(5, "Chat", Self.json, [], [("connect-protocol-version", "0")])
      #expect(version.endCode == "invalid_argument")
    }
  }

  @Test("A cut-off message is internal, and bad JSON invalid_argument")
  func broken() async throws {
    try await ProtocolPeer.run { peer, _ in
      let cut = try await peer.answer(1, "Chat", Self.json, Array(Self.text("{}").dropLast()))
      #expect(cut.endCode == "internal")
      let noise = try await peer.answer(3, "Chat", Self.json, Self.text("{"))
      #expect(noise.endCode == "invalid_argument")
    }
  }

  @Test("A reset ends the handler of a stream")
  func cancelled() async throws {
    try await ProtocolPeer.run { peer, server in
      // A million messages: the windows of the peer are wide, but the handler is cancelled long before it is done.
      peer.post(1, "Count", Self.json, Self.text(#"{"to":100000000}"#))
      try await server.handlers.counted.reaches(1)
      peer.send(.reset(1, 8))
      try await server.handlers.ended.reaches(1)
    }
  }
}

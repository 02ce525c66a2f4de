import EventLoop
import RPC
import RPCServer
import TestSupport
import Testing

@Suite("Connect by GET")
struct ConnectGetTests {
  @Test(
    "A method without side effects is called by its query, whatever the order",
    arguments: [
      "connect=v1&encoding=json&message=%7B%22text%22%3A%22hi%22%7D", "message={%22text%22:%22h%69%22}&encoding=json",
      "connect=v1&base64=1&encoding=json&message=eyJ0ZXh0IjoiaGkifQ", "base64=1&message=eyJ0ZXh0IjoiaGkifQ%3D%3D&encoding=json",
      "encoding=json&x=y&message={%22text%22:%22hi%22}&message=ignored", "encoding=json&base64=0&message={%22text%22:%22hi%22}",
    ])
  func json(_ query: String) async throws {
    let telling = EchoHandlers { _, call in call.initialMetadata["x-query"] = call.call.query ?? "none" }
    try await ProtocolPeer.run(handlers: telling) { peer, _ in
      let response = try await peer.get(1, "Echo", query)
      #expect(response.value(":status") == "200" && response.text == #"{"text":"hi"}"#)
      #expect(response.value("content-type") == "application/json" && response.value("x-query") == query)
      let posted = try await peer.answer(3, "Echo", "application/json", Array("{}".utf8))
      #expect(posted.value("x-query") == "none")
    }
  }

  @Test("Protobuf comes in base64 of either alphabet, or escaped; gzip restores it")
  func proto() async throws {
    try await ProtocolPeer.run { peer, _ in
      // Field 2 with bytes that differ between the alphabets: 12 03 fb ff fe.
      for (index, message) in ["base64=1&message=EgP7__4", "base64=1&message=EgP7%2F%2F4%3D", "message=%12%03%fb%ff%fe"]
        .enumerated()
      {
        let response = try await peer.get(UInt32(1 + 2 * index), "Echo", "connect=v1&encoding=proto&" + message)
        #expect(
          response.value("content-type") == "application/proto" && response.body == [0x12, 3, 0xfb, 0xff, 0xfe], "\(message)")
      }
      let gzip = MetadataBase64.encode(ProtocolPeer.compressed([0x0a, 1, 0x61])).map {
        $0 == "+" ? "-" : $0 == "/" ? "_" : $0
      }
      let response = try await peer.get(9, "Echo", "encoding=proto&compression=gzip&base64=1&message=" + String(gzip))
      #expect(response.body == [0x0a, 1, 0x61])
      let empty = try await peer.get(11, "Echo", "encoding=proto&message=")
      #expect(empty.value(":status") == "200" && empty.body.isEmpty)
    }
  }

  @Test(
    "What is wrong with a query is told",
    arguments: [
      ("encoding=json", "400", "invalid_argument"), ("encoding=json&base64=1&message=!", "400", "invalid_argument"),
      ("encoding=json&message={", "400", "invalid_argument"), ("encoding=json&connect=v2&message={}", "400", "invalid_argument"),
      ("encoding=json&compression=br&message={}", "501", "unimplemented"), ("encoding=xml&message={}", "415", nil),
      ("message={}", "415", nil), ("", "415", nil),
    ] as [(String, String, String?)])
  func refused(_ query: String, _ status: String, _ code: String?) async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.get(1, "Echo", query)
      #expect(response.value(":status") == status && response.code == code)
      if code == "unimplemented" { #expect(response.value("accept-encoding") == "gzip,deflate,identity") }
    }
  }

  @Test("The timeout holds for a GET, and a body that comes with it means nothing")
  func headers() async throws {
    try await ProtocolPeer.run { peer, _ in
      let late = try await peer.get(1, "Echo", "encoding=json&message={}", [("connect-timeout-ms", "0")])
      #expect(late.value(":status") == "504")
      peer.send(.headers(3, HTTP2Peer.httpHeaders("GET", ProtocolPeer.service + "Echo?encoding=json&message={}")))
      peer.sendBody(3, [UInt8](repeating: 1, count: 100_000))
      let response = try await peer.response(3)
      #expect(response.text == "{}")
    }
  }
}

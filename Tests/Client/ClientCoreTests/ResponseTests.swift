import RPC
import TestAPI
import Testing

@testable import ClientCore

@Suite("Connect responses")
struct ResponseTests {
  @Test("Envelopes come out whole, wherever the bytes were cut", arguments: 1...12)
  func envelopes(step: Int) throws {
    let stream = Enveloped.bytes("{}") + Enveloped.bytes("") + Enveloped.end(#"{"metadata":{}}"#)
    var reader = EnvelopeReader(maximumBytes: 64)
    var seen: [String] = []
    for start in stride(from: 0, to: stream.count, by: step) {
      reader.append(Array(stream[start..<min(start + step, stream.count)]))
      while let envelope = try reader.next() {
        seen.append(String(decoding: envelope.content, as: UTF8.self) + (envelope.isEnd ? " end" : ""))
      }
    }
    #expect(seen == ["{}", "", #"{"metadata":{}} end"#])
    #expect(reader.isEmpty)
  }

  @Test("An envelope of the limit is read, one byte more is refused as soon as its length is there")
  func envelopeLimit() throws {
    var reader = EnvelopeReader(maximumBytes: 2)
    reader.append(Enveloped.bytes("{}"))
    #expect(try reader.next()?.content.count == 2)
    reader.append([0, 0, 0, 0, 3])
    let error = #expect(throws: RPCError.self) { try reader.next() }
    #expect(error?.code == .resourceExhausted)
  }

  @Test("Headers become metadata, those with the prefix become trailers, and joined binary values come apart")
  func head() {
    let head = ResponseHead(
      status: 200,
      headers: [
        ("Content-Type", "Application/JSON; charset=utf-8"), ("X-A", "1"), ("Trailer-X-T", "t"), ("X-B-Bin", "AAE, /w=="),
        ("Trailer-Y-Bin", "AA"), ("Date", "now"), ("Content-Encoding", "gzip"), ("X-Bad", "\u{e4}"), ("X-Odd-Bin", "%"),
      ])
    #expect(head.contentType == "application/json")
    #expect(head.metadata["x-a"] == "1" && head.metadata["date"] == nil && head.metadata["x-bad"] == nil)
    #expect(head.metadata.entries.filter { $0.name == "x-b-bin" }.map(\.value) == [.binary([0, 1]), .binary([255])])
    #expect(head.metadata.entries.count == 3)
    #expect(head.trailers["x-t"] == "t" && head.trailers.binary("y-bin") == [0])
    #expect(head.wasCompressed)
  }

  @Test("An error's JSON becomes code, message, details and metadata")
  func errorBody() throws {
    let head = ResponseHead(
      status: 429, headers: [("content-type", "application/json"), ("retry-after", "7"), ("trailer-x-t", "t")])
    let json = #"""
      {"code":"resource_exhausted","message":"zu viel 🙂","details":[
        {"type":"google.rpc.ErrorInfo","value":"","debug":{"reason":"SLOW_DOWN","domain":"test"}},
        {"type":"test.Other","value":"AAH/"}]}
      """#
    let error = head.error(body: Array(json.utf8))
    #expect(error.code == .resourceExhausted && error.message == "zu viel 🙂")
    #expect(error.reason == "SLOW_DOWN" && error.retryAfter == .seconds(7) && error.metadata["x-t"] == "t")
    #expect(error.details.last == .other(typeURL: "type.googleapis.com/test.Other", bytes: [0, 1, 255]))
  }

  @Test(
    "Without an error's JSON the HTTP status tells",
    arguments: [
      (400, StatusCode.internal), (401, .unauthenticated), (403, .permissionDenied), (404, .unimplemented), (429, .unavailable),
      (502, .unavailable), (503, .unavailable), (504, .unavailable), (500, .unknown), (302, .unknown),
    ])
  func status(status: Int, code: StatusCode) {
    for (type, body) in [
      ("text/html", "<h1>"), ("application/json", "[]"), ("application/json", "{"), ("application/json", "{}"),
    ] {
      #expect(ResponseHead(status: status, headers: [("content-type", type)]).error(body: Array(body.utf8)).code == code)
    }
  }
}

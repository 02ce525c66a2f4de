import ConnectWire
import JSON
import RPC
import Testing

@Suite("Errors of the Connect protocol") struct ConnectErrorTests {
  @Test("Every code has a name of its own and comes back from it")
  func names() {
    let codes = StatusCode.allCases.filter { $0 != .ok }
    #expect(codes.allSatisfy { ConnectCode.code(named: ConnectCode.name($0)) == $0 })
    #expect(ConnectCode.name(.cancelled) == "canceled")
    #expect(ConnectCode.code(named: "cancelled") == nil)
    #expect(ConnectCode.httpStatus(.failedPrecondition) == 400)
    #expect(ConnectCode.httpStatus(.deadlineExceeded) == 504)
  }

  @Test("An error with details and metadata survives the end of a stream")
  func roundTrip() throws {
    let error = RPCError(.notFound, "no such \"thing\" ✓", details: [.retryInfo(.milliseconds(1_500))])
    let end = ConnectEndOfStream(error: error, metadata: ["a": "1", "b": "2", "a": "3"])
    let detail = ConnectError.Detail(type: "google.rpc.RetryInfo", value: [1, 2], debug: ["retryDelay": "1.500s"])
    let json = end.json(details: [detail])
    let read = try #require(ConnectEndOfStream(json: json))
    #expect(read.error?.code == .notFound)
    #expect(read.error?.message == error.message)
    #expect(read.error?.details == [.retryInfo(.milliseconds(1_500))])
    #expect(read.metadata.values(of: "a") == ["1", "3"])
    #expect(read.metadata["b"] == "2")
  }

  @Test("A success is an empty object")
  func success() {
    #expect(ConnectEndOfStream().json(details: []) == Array("{}".utf8))
    #expect(ConnectEndOfStream(json: Array("{}".utf8))?.error == nil)
    #expect(ConnectEndOfStream(json: Array("[]".utf8)) == nil)
  }

  @Test(
    "An error without a code that is known has the code of its place",
    arguments: [#"{"code":"nope","message":"m"}"#, #"{"message":"m"}"#, #"{"code":7,"message":"m"}"#])
  func unknownCode(_ json: String) throws {
    let error = try #require(ConnectError.read(try JSONParser.parse(json), fallback: .unavailable))
    #expect(error.code == .unavailable)
    #expect(error.message == "m")
  }

  @Test("A detail of an unknown type keeps its bytes")
  func unknownDetail() throws {
    let json = try JSONParser.parse(#"{"code":"internal","details":[{"type":"a.B","value":"AQI"},{"type":"c"}]}"#)
    #expect(ConnectError.read(json, fallback: .unknown)?.details == [.other(typeURL: "type.googleapis.com/a.B", bytes: [1, 2])])
  }
}

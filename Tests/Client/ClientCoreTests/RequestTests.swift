import ConnectWire
import Foundation
import RPC
import TestAPI
import Testing

@testable import ClientCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Connect requests")
struct RequestTests {
  private func request(
    _ method: MethodInfo = EchoService.Methods.echo.info, base: String = "https://api.example", metadata: Metadata = [:],
    deadline: Deadline? = nil
  ) -> ConnectRequest {
    ConnectRequest(baseURL: URL(string: base)!, method: method, metadata: metadata, deadline: deadline)
  }

  @Test(
    "A unary call is a POST of JSON to the method's path behind the base URL",
    arguments: ["https://a.example/x", "https://a.example/x/"])
  func unary(base: String) throws {
    let post = try request(base: base).unary(Array("{}".utf8))
    #expect(post.httpMethod == "POST")
    #expect(post.url?.absoluteString == "https://a.example/x/parley.testing.v1.EchoService/Echo")
    #expect(post.value(forHTTPHeaderField: "content-type") == "application/json")
    #expect(post.value(forHTTPHeaderField: "connect-protocol-version") == "1")
    #expect(post.value(forHTTPHeaderField: "connect-timeout-ms") == nil)
    #expect(post.httpBody == Data("{}".utf8))
  }

  @Test("A call with streams is a POST of envelopes")
  func stream() throws {
    var body: [UInt8] = []
    try Envelope.write(Array("{}".utf8), to: &body)
    #expect(body == [0, 0, 0, 0, 2, 0x7b, 0x7d])
    let post = try request(EchoService.Methods.count.info).stream(body)
    #expect(post.value(forHTTPHeaderField: "content-type") == "application/connect+json")
    #expect(post.httpBody == Data(body))
  }

  @Test("A GET carries the message in its address, every byte that could mean something escaped")
  func get() throws {
    let json = #"{"text":"ä & b=1"}"#
    let get = try #require(try request().get(Array(json.utf8), limit: 4096))
    #expect(get.httpMethod == "GET" && get.httpBody == nil)
    #expect(get.value(forHTTPHeaderField: "content-type") == nil)
    let query = "connect=v1&encoding=json&message=%7B%22text%22%3A%22%C3%A4%20%26%20b%3D1%22%7D"
    #expect(get.url?.absoluteString == "https://api.example/parley.testing.v1.EchoService/Echo?\(query)")
  }

  @Test("A GET whose address is one byte too long is not made")
  func longGET() throws {
    let length = try #require(try request().get([0x31], limit: 4096)).url!.absoluteString.utf8.count
    #expect(try request().get([0x31], limit: length) != nil)
    #expect(try request().get([0x31], limit: length - 1) == nil)
  }

  @Test("Metadata goes out as headers, bytes in base64; the protocol's own names do not")
  func metadata() throws {
    var metadata: Metadata = ["authorization": "Bearer x", "content-type": "text/plain", "host": "evil.example", "x-a": "1"]
    metadata.append("x-a", "2")
    metadata.append("x-b-bin", [0, 1, 255])
    let post = try request(metadata: metadata).unary([])
    #expect(post.value(forHTTPHeaderField: "authorization") == "Bearer x")
    #expect(post.value(forHTTPHeaderField: "x-a") == "1,2")
    #expect(post.value(forHTTPHeaderField: "x-b-bin") == "AAH/")
    #expect(post.value(forHTTPHeaderField: "content-type") == "application/json")
    #expect(post.value(forHTTPHeaderField: "host") == nil)
  }

  @Test(
    "A timeout is whole milliseconds, rounded up, of at most ten digits",
    arguments: [
      (Duration.milliseconds(1500), "1500"), (.nanoseconds(1), "1"), (.seconds(9_999_998), "9999998000"),
      (.seconds(9_999_999), "9999999000"), (.seconds(10_000_000), "9999999999"), (.seconds(Int64.max), "9999999999"),
    ])
  func timeout(duration: Duration, text: String) {
    #expect(ConnectHeaders.encodeTimeout(duration) == text)
  }

  @Test("A deadline that has passed refuses the call before it begins")
  func passedDeadline() {
    let error = #expect(throws: RPCError.self) { try request(deadline: .after(.zero)).unary([]) }
    #expect(error?.code == .deadlineExceeded)
  }

  @Test("A base URL of another scheme is refused")
  func scheme() {
    let error = #expect(throws: RPCError.self) { try request(base: "file:///etc").unary([]) }
    #expect(error?.code == .internal)
  }
}

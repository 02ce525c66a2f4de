import MessagesCore
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// What a client makes of odd answers in the Connect protocol, and what it says itself.
@Suite("Odd answers in Connect")
struct ConnectWireTests {
  private static let configuration = WireKind(wire: .connect, codec: .proto).configuration

  private func unary(_ status: String, _ type: String?, _ fields: [(String, String)] = [], _ body: [UInt8]) async throws
    -> Result<ClientResponse<EchoResponse>, RPCError>
  {
    try await OddServer.unary(in: Self.configuration) { peer, id in
      let type = type.map { [("content-type", $0)] } ?? []
      peer.send(.headers(id, HPACK.block([(":status", status)] + type + fields)), .data(id, body, ends: true))
    }
  }

  private func error(_ result: Result<ClientResponse<EchoResponse>, RPCError>) -> RPCError? {
    if case .failure(let error) = result { error } else { nil }
  }

  @Test(
    "A body that is no error leaves the HTTP status to speak",
    arguments: [
      ("400", StatusCode.internal), ("401", .unauthenticated), ("403", .permissionDenied), ("404", .unimplemented),
      ("429", .unavailable), ("502", .unavailable), ("503", .unavailable), ("504", .unavailable), ("418", .unknown),
      ("431", .unknown), ("800", .unknown),
    ])
  func httpStatus(_ status: String, _ expected: StatusCode) async throws {
    for (type, body) in [("application/proto", [UInt8]()), ("application/json", Array("null".utf8)), ("text/html", [1])] {
      #expect(error(try await unary(status, type, body))?.code == expected)
    }
    #expect(error(try await unary(status, nil, []))?.code == expected)
  }

  @Test(
    "An error's code is its own, where it is one, and the HTTP status otherwise",
    arguments: [
      (#"{"code": null, "message": "oops"}"#, StatusCode.unauthenticated), (#"{"message": "oops"}"#, .unauthenticated),
      (#"{"code": "foobar", "message": "oops"}"#, .unauthenticated),
      (#"{"code": "out_of_range", "message": "oops", "foobar": "baz"}"#, .outOfRange),
      (#"{"code": "canceled", "message": "oops"}"#, .cancelled),
    ])
  func errorBody(_ json: String, _ expected: StatusCode) async throws {
    let error = error(
      try await unary("401", "application/json; charset=utf-8", [("trailer-x-late", "1"), ("x-early", "2")], Array(json.utf8)))
    #expect(error?.code == expected)
    #expect(error?.message == "oops")
    #expect(error?.metadata["x-late"] == "1")
  }

  @Test("An error may be compressed, and its details are read from their bytes")
  func compressedError() async throws {
    let json = #"{"code":"out_of_range","message":"oops","details":[{"type":"google.rpc.RetryInfo","value":"CgIIAg","x":1}]}"#
    let error = error(
      try await unary(
        "400", "application/json", [("content-encoding", "gzip")], ProtocolPeer.compressed(Array(json.utf8))))
    #expect(error?.code == .outOfRange)
    #expect(error?.retryAfter == .seconds(2))
  }

  @Test("A unary answer of the wrong type or encoding is none")
  func wrongType() async throws {
    let body: [UInt8] = [0x0a, 1, 0x79]
    #expect(error(try await unary("200", "image/jpeg", body))?.code == .unknown)
    #expect(error(try await unary("200", "application/json", Array("{}".utf8)))?.code == .internal)
    #expect(error(try await unary("200", "application/proto", [("content-encoding", "foo")], body))?.code == .internal)
    #expect(error(try await unary("200", "application/proto", [("content-encoding", "gzip")], body))?.code == .internal)
    #expect(error(try await unary("200", "application/proto", [0xff]))?.code == .internal)
    #expect(try await unary("200", "application/proto", body).get().message.text == "y")
    let empty = try await unary("200", "application/proto", [("content-encoding", "gzip"), ("trailer-x", "1"), ("y", "2")], [])
      .get()
    #expect(empty.message == .init() && empty.trailingMetadata == ["x": "1"] && empty.initialMetadata == ["y": "2"])
    let bomb = ProtocolPeer.compressed([UInt8](repeating: 0, count: 64 << 20))
    let result = try await OddServer.unary(in: Self.configuration) { peer, id in
      peer.send(.headers(id, OddServer.headers("application/proto", [("content-encoding", "gzip")])))
      peer.sendBody(id, bomb)
    }
    #expect(error(result)?.code == .resourceExhausted)
  }

  private func unary(_ status: String, _ type: String?, _ body: [UInt8]) async throws -> Result<
    ClientResponse<EchoResponse>, RPCError
  > { try await unary(status, type, [], body) }

  private func stream(_ type: String, _ fields: [(String, String)] = [], _ body: [UInt8], status: String = "200") async throws
    -> (
      numbers: [Int32], error: RPCError?
    )
  {
    try await OddServer.stream(in: Self.configuration) { peer, id in
      peer.send(.headers(id, OddServer.headers(type, status: status, fields)), .data(id, body, ends: true))
    }
  }

  private static func end(_ json: String, flags: UInt8 = 2) -> [UInt8] { HTTP2Peer.message(Array(json.utf8), flags: flags) }
  private static let one = HTTP2Peer.message([0x08, 1])

  @Test("Without the envelope that ends it a stream is INTERNAL, after its messages")
  func noEnd() async throws {
    let type = "application/connect+proto"
    for body in [Self.one, Self.one + Self.end("{}").prefix(4), Self.one + Self.end("nonsense"), Self.one + Self.one.prefix(6)] {
      let outcome = try await stream(type, body)
      #expect(outcome.numbers == [1] && outcome.error?.code == .internal)
    }
    let fine = try await stream(type, Self.one + Self.end("{}"))
    #expect(fine.numbers == [1] && fine.error == nil)
  }

  private func stream(_ type: String, _ body: [UInt8]) async throws -> (numbers: [Int32], error: RPCError?) {
    try await stream(type, [], body)
  }

  @Test(
    "The end of a stream says how the call went",
    arguments: [
      (#"{"error": null}"#, nil as StatusCode?), ("{}", nil), (#"{"code": "not_found"}"#, nil),
      (#"{"error": {"code": null, "message": "oops"}}"#, .unknown), (#"{"error": {"message": "oops"}}"#, .unknown),
      (#"{"error": {"code": "foobar", "message": "oops"}}"#, .unknown),
      (#"{"error": {"code": "out_of_range", "message": "oops", "x": 1}, "metadata": {"X-Late": ["1", "2"]}}"#, .outOfRange),
    ])
  func endings(_ json: String, _ expected: StatusCode?) async throws {
    let outcome = try await stream("application/connect+proto", Self.one + Self.end(json))
    #expect(outcome.numbers == [1])
    #expect(outcome.error?.code == expected)
    if expected != nil { #expect(outcome.error?.message == "oops") }
    if expected == .outOfRange { #expect(outcome.error?.metadata.values(of: "x-late") == ["1", "2"]) }
  }

  @Test("The end of a stream may be compressed")
  func compressedEnd() async throws {
    let end = HTTP2Peer.message(ProtocolPeer.compressed(Array(#"{"error":{"code":"aborted"}}"#.utf8)), flags: 3)
    let outcome = try await stream("application/connect+proto", [("connect-content-encoding", "gzip")], Self.one + end)
    #expect(outcome.numbers == [1] && outcome.error?.code == .aborted)
  }

  @Test("A stream of the wrong type, status or encoding is refused")
  func wrongStream() async throws {
    let body = Self.one + Self.end("{}")
    #expect(try await stream("application/connect+json", body).error?.code == .internal)
    #expect(try await stream("application/proto", body).error?.code == .unknown)
    #expect(try await stream("application/connect+proto", [], body, status: "404").error?.code == .unimplemented)
    let encoding = try await stream("application/connect+proto", [("connect-content-encoding", "foo")], body)
    #expect(encoding.error?.code == .internal)
    let flagged = try await stream(
      "application/connect+proto", [("connect-content-encoding", "identity")], HTTP2Peer.message([8, 1], flags: 1))
    #expect(flagged.error?.code == .internal)
  }

  /// The headers of the one request that `body` makes.
  private func request(
    _ configuration: ClientChannelConfiguration, _ body: @escaping @Sendable (EchoService.Client) async throws -> Void
  ) async throws -> HTTP2Peer.Exchange {
    let seen = Mutex<HTTP2Peer.Exchange?>(nil)
    try await OddServer.run(
      [
        { peer, id in
          seen.withLock { $0 = peer.streams[id] }
          peer.send(.headers(id, OddServer.headers("application/proto"), ends: true))
        }
      ], in: configuration
    ) { client, _ in try? await body(client) }
    return try #require(seen.withLock { $0 })
  }

  @Test("A method without side effects is called by GET when that is preferred")
  func get() async throws {
    let options = CallOptions(metadata: ["x-own": "1"], deadline: .after(.seconds(10)), prefersGET: true)
    let proto = try await request(Self.configuration) { _ = try await $0.echo(.init(text: "?"), options: options) }
    #expect(proto.value(":method") == "GET")
    #expect(
      proto.value(":path") == "/parley.testing.v1.EchoService/Echo?connect=v1&base64=1&encoding=proto&message=CgE_")
    #expect(proto.value("content-type") == nil && proto.value("x-own") == "1")
    #expect(proto.value("connect-timeout-ms").flatMap { Int($0) }.map { $0 > 5_000 && $0 <= 10_000 } == true)
    #expect(proto.body.isEmpty)
    var json = Self.configuration
    json.codec = .json
    let text = try await request(json) { _ = try await $0.echo(.init(text: "a b"), options: options) }
    #expect(
      text.value(":path")
        == "/parley.testing.v1.EchoService/Echo?connect=v1&encoding=json&message=%7B%22text%22%3A%22a%20b%22%7D")
    json.compression = .gzip
    let gzip = try await request(json) { _ = try await $0.echo(.init(text: "a b"), options: options) }
    let start = "/parley.testing.v1.EchoService/Echo?connect=v1&base64=1&compression=gzip&encoding=json&message=H4sI"
    #expect(gzip.value(":path")?.hasPrefix(start) == true)
  }

  @Test("A call goes by POST when its method has side effects, or its URL would be too long")
  func post() async throws {
    let options = CallOptions(prefersGET: true)
    let metadata = try await request(Self.configuration) { _ = try await $0.metadata(options: options) }
    #expect(metadata.value(":method") == "POST" && metadata.value("content-type") == "application/proto")
    #expect(metadata.value("connect-protocol-version") == "1")
    #expect(metadata.value("te") == nil && metadata.value("grpc-timeout") == nil)
    let long = try await request(Self.configuration) {
      _ = try await $0.echo(.init(body: .init([UInt8](repeating: 1, count: 7_000))), options: options)
    }
    #expect(long.value(":method") == "POST" && long.body.count == 7_003)
    var compressing = Self.configuration
    compressing.compression = .gzip
    let gzip = try await request(compressing) { _ = try await $0.echo(.init(text: "x")) }
    #expect(gzip.value("content-encoding") == "gzip" && gzip.body.starts(with: [0x1f, 0x8b]))
    // Also of nothing: what the header says must be so.
    let empty = try await request(compressing) { _ = try await $0.echo() }
    #expect(empty.value("content-encoding") == "gzip" && ProtocolPeer.restored(empty.body) == [])
  }

  @Test("An empty message goes uncompressed in a URL, which compression would only make longer")
  func emptyGet() async throws {
    var compressing = Self.configuration
    compressing.compression = .gzip
    let empty = try await request(compressing) { _ = try await $0.echo(options: CallOptions(prefersGET: true)) }
    #expect(empty.value(":method") == "GET" && empty.value("content-encoding") == nil && empty.body.isEmpty)
    #expect(empty.value(":path") == "/parley.testing.v1.EchoService/Echo?connect=v1&base64=1&encoding=proto&message=")
  }
}

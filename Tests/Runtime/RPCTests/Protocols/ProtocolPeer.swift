import Buffers
import Compression
import EventLoop
import JSON
import RPC
import RPCServer
import TestSupport

/// A peer that speaks any of the protocols, byte by byte.
enum ProtocolPeer {
  static let service = "/parley.testing.v1.EchoService/"

  /// One connection to a fresh server, which must still serve when `body` is done.
  static func run(
    _ configuration: RPCServerConfiguration = .init(), handlers: EchoHandlers = EchoHandlers(),
    interceptors: [any ServerInterceptor] = [], http: [HTTPRoute] = [], fallback: HTTPRoute.Handler? = nil,
    expectingIncidents: Int = 0, _ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  ) async throws {
    try await EchoServer.run(
      handlers: handlers, interceptors: interceptors, http: http, fallback: fallback, configuration: configuration
    ) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      do { try await body(peer, server) } catch {
        peer.close()
        throw error
      }
      try await peer.probe(1_001)
      guard server.incidents.count == expectingIncidents else { throw TimedOut("incidents: \(server.incidents)") }
      peer.close()
    }
  }

  /// Bytes in a compression.
  static func compressed(_ bytes: [UInt8], _ compression: MessageCompression = .gzip) -> [UInt8] {
    let buffer = ByteBuffer()
    bytes.withUnsafeBytes { _ = Compressor().compress($0, compression, into: buffer) }
    return [UInt8](buffer.bytes)
  }

  /// What compressed bytes hold; nil when they are none.
  static func restored(_ bytes: [UInt8], _ compression: MessageCompression = .gzip) -> [UInt8]? {
    let buffer = ByteBuffer()
    let count = try? bytes.withUnsafeBytes {
      try Compressor().decompress($0, compression, into: buffer, maximumBytes: 64 << 20)
    }
    return count == nil ? nil : [UInt8](buffer.bytes)
  }

  /// The bytes of an `EchoRequest` whose body is so many zeros that the whole message has `count` bytes.
  static func echo(ofBytes count: Int) -> [UInt8] {
    let content = count - 4
    return [0x12, UInt8(content & 127 | 128), UInt8(content >> 7 & 127 | 128), UInt8(content >> 14)]
      + [UInt8](repeating: 0, count: content)
  }
}

extension HTTP2Peer {
  /// Sends a POST to a method of the echo service, whole.
  func post(
    _ stream: UInt32, _ method: String, _ type: String, _ body: [UInt8] = [], _ headers: [(String, String)] = [],
    ends: Bool = true
  ) {
    let fields = Self.httpHeaders("POST", ProtocolPeer.service + method, [("content-type", type)] + headers)
    send(.headers(stream, fields, ends: ends && body.isEmpty))
    if !body.isEmpty { sendBody(stream, body, ends: ends) }
  }

  /// Posts, and returns the response.
  func answer(
    _ stream: UInt32, _ method: String, _ type: String, _ body: [UInt8] = [], _ headers: [(String, String)] = []
  ) async throws -> Exchange {
    post(stream, method, type, body, headers)
    return try await response(stream)
  }

  /// Calls by GET, and returns the response.
  func get(_ stream: UInt32, _ method: String, _ query: String, _ headers: [(String, String)] = []) async throws -> Exchange {
    send(.headers(stream, Self.httpHeaders("GET", ProtocolPeer.service + method + "?" + query, headers), ends: true))
    return try await response(stream)
  }
}

extension HTTP2Peer.Exchange {
  /// The body as text.
  var text: String { String(decoding: body, as: UTF8.self) }
  /// The body as JSON; null when it is none.
  var json: JSONValue { (try? JSONParser.parse(body)) ?? .null }
  /// The `code` of the error that the body is.
  var code: String? { json["code"]?.string }
  /// The messages of the body with their flags.
  var envelopes: [(flags: UInt8, bytes: [UInt8])] {
    var offset = 0
    var flags: [UInt8] = []
    let messages = HTTP2Peer.messages(in: body)
    for message in messages {
      flags.append(body[offset])
      offset += 5 + message.count
    }
    return Array(zip(flags, messages)).map { (flags: $0.0, bytes: $0.1) }
  }
  /// The JSON of the last envelope of a Connect stream; null when there is none.
  var end: JSONValue {
    guard let last = envelopes.last, last.flags == 2 else { return .null }
    return (try? JSONParser.parse(last.bytes)) ?? .null
  }
  /// The code in ``end``.
  var endCode: String? { end["error"]?["code"]?.string }
  /// The lines of the trailers of a gRPC-Web response.
  var webTrailers: [String] {
    guard let last = envelopes.last, last.flags == 0x80 else { return [] }
    return String(decoding: last.bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
  }
}

/// Does something to every call before its handler.
struct BeforeCall: ServerInterceptor {
  let action: @Sendable (any ServerCall) -> Void

  init(_ action: @escaping @Sendable (any ServerCall) -> Void) { self.action = action }

  func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    action(call)
    try await next(call)
  }
}

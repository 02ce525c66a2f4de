import EventLoop
import MessagesCore
import RPC
import RPCServer
import TestSupport
import Testing

@Suite("Compressed messages of gRPC")
struct CompressionTests {
  /// Tells in a trailer whether the request was compressed.
  private static let telling = EchoHandlers { _, call in
    call.trailingMetadata["x-compressed"] = "\(call.requestWasCompressed)"
  }

  private static func limited(_ bytes: Int) -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    configuration.maximumRequestBytes = bytes
    return configuration
  }

  private static func compressing(_ compression: MessageCompression) -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    configuration.responseCompression = compression
    return configuration
  }

  @Test("A compressed request is read, and the handler may know", arguments: [MessageCompression.gzip, .deflate])
  func request(_ compression: MessageCompression) async throws {
    let message = ProtocolPeer.echo(ofBytes: 50_000)
    try await ProtocolPeer.run(handlers: Self.telling) { peer, _ in
      let body = HTTP2Peer.message(ProtocolPeer.compressed(message, compression), flags: 1)
      let response = try await peer.answer(1, "Echo", "application/grpc", body, [("grpc-encoding", compression.rawValue)])
      #expect(response.status == 0 && response.value("x-compressed") == "true")
      // The server compresses nothing by itself.
      #expect(response.envelopes.first?.flags == 0 && response.envelopes.first?.bytes == message)
      let plain = try await peer.answer(
        3, "Echo", "application/grpc", HTTP2Peer.message(message), [("grpc-encoding", compression.rawValue)])
      #expect(plain.status == 0 && plain.value("x-compressed") == "false")
    }
  }

  @Test("An empty message may bear the flag without being compressed")
  func empty() async throws {
    try await ProtocolPeer.run { peer, _ in
      let response = try await peer.answer(
        1, "Echo", "application/grpc", HTTP2Peer.message([], flags: 1), [("grpc-encoding", "gzip")])
      #expect(response.status == 0)
    }
  }

  @Test("The limit counts what comes out: exactly it is taken, one byte more and a bomb are RESOURCE_EXHAUSTED")
  func limit() async throws {
    try await ProtocolPeer.run(Self.limited(100_000)) { peer, _ in
      let gzip = [("grpc-encoding", "gzip")]
      var stream: UInt32 = 1
      for (count, status) in [(100_000, 0), (100_001, 8), (60_000_000, 8)] {
        let message = count > 1_000_000 ? [UInt8](repeating: 0, count: count) : ProtocolPeer.echo(ofBytes: count)
        let body = HTTP2Peer.message(ProtocolPeer.compressed(message), flags: 1)
        let answered = try await peer.answer(stream, "Echo", "application/grpc", body, gzip)
        #expect(answered.status == status, "\(count)")
        stream += 2
      }
      // In a stream it is the same: the second message is the bomb.
      let bomb = HTTP2Peer.message(ProtocolPeer.compressed([UInt8](repeating: 0, count: 10_000_000)), flags: 1)
      let body = HTTP2Peer.message(ProtocolPeer.compressed([0x08, 1]), flags: 1) + bomb
      let bombed = try await peer.answer(stream, "Sum", "application/grpc", body, gzip)
      #expect(bombed.status == 8)
    }
  }

  @Test("A message that does not shrink may still be compressed at the limit")
  func incompressible() async throws {
    var generator = SystemRandomNumberGenerator()
    var message = ProtocolPeer.echo(ofBytes: 100_000)
    for index in 4..<message.count { message[index] = UInt8.random(in: 0...255, using: &generator) }
    let compressed = ProtocolPeer.compressed(message)
    #expect(compressed.count > 100_000)
    try await ProtocolPeer.run(Self.limited(100_000)) { [message] peer, _ in
      let response = try await peer.answer(
        1, "Echo", "application/grpc", HTTP2Peer.message(compressed, flags: 1), [("grpc-encoding", "gzip")])
      #expect(response.status == 0 && response.envelopes.first?.bytes == message)
    }
  }

  @Test("What is not in the compression named is INTERNAL", arguments: [[1, 2, 3], [0x1f, 0x8b, 8, 0]] as [[UInt8]])
  func malformed(_ bytes: [UInt8]) async throws {
    try await ProtocolPeer.run { peer, _ in
      let body = HTTP2Peer.message(bytes, flags: 1)
      let noise = try await peer.answer(1, "Echo", "application/grpc", body, [("grpc-encoding", "gzip")])
      #expect(noise.status == 13)
      let cut = HTTP2Peer.message(Array(ProtocolPeer.compressed([0x18, 1]).dropLast(3)), flags: 1)
      let truncated = try await peer.answer(3, "Echo", "application/grpc", cut, [("grpc-encoding", "gzip")])
      #expect(truncated.status == 13)
    }
  }

  @Test("Flags that mean nothing are INTERNAL, in streams too", arguments: [2, 3, 4, 0x80, 0x81] as [UInt8])
  func flags(_ flags: UInt8) async throws {
    try await ProtocolPeer.run { peer, _ in
      let body = HTTP2Peer.message([0x18, 1], flags: flags)
      let unary = try await peer.answer(1, "Echo", "application/grpc", body, [("grpc-encoding", "gzip")])
      #expect(unary.status == 13)
      let stream = try await peer.answer(3, "Sum", "application/grpc", body, [("grpc-encoding", "gzip")])
      #expect(stream.status == 13)
      let web = try await peer.answer(5, "Sum", "application/grpc-web", body)
      #expect(web.status == 13)
    }
  }

  @Test(
    "A server that compresses does so where the caller accepts it and it is worth it",
    arguments: [
      ([("grpc-accept-encoding", "identity,gzip")], true), ([("grpc-accept-encoding", "GZIP")], true),
      ([("grpc-accept-encoding", "identity,deflate")], false), ([("grpc-accept-encoding", "gzip;q=0")], false), ([], false),
      ([("grpc-encoding", "gzip")], true),
    ] as [([(String, String)], Bool)])
  func response(_ headers: [(String, String)], _ isCompressed: Bool) async throws {
    try await ProtocolPeer.run(Self.compressing(.gzip)) { peer, _ in
      let message = ProtocolPeer.echo(ofBytes: 20_000)
      let large = try await peer.answer(1, "Echo", "application/grpc", HTTP2Peer.message(message), headers)
      #expect(large.status == 0)
      #expect(large.value("grpc-encoding") == (isCompressed ? "gzip" : nil))
      #expect(large.envelopes.first?.flags == (isCompressed ? 1 : 0))
      let bytes = large.envelopes.first?.bytes ?? []
      #expect((isCompressed ? ProtocolPeer.restored(bytes) : bytes) == message)
      #expect(!isCompressed || bytes.count < 1_000)
      let small = try await peer.answer(3, "Echo", "application/grpc", HTTP2Peer.message([0x0a, 1, 0x61]), headers)
      #expect(small.envelopes.first?.flags == 0 && small.envelopes.first?.bytes == [0x0a, 1, 0x61])
    }
  }

  @Test("The least size that is compressed is the configuration's", arguments: [(100, 0), (99, 1), (0, 1)] as [(Int, UInt8)])
  func threshold(_ minimum: Int, _ flags: UInt8) async throws {
    var configuration = Self.compressing(.deflate)
    configuration.minimumCompressedBytes = minimum
    try await ProtocolPeer.run(configuration) { peer, _ in
      // 99 bytes: tag, length and 97 zeros.
      let message: [UInt8] = [0x12, 97] + [UInt8](repeating: 0, count: 97)
      let response = try await peer.answer(
        1, "Echo", "application/grpc", HTTP2Peer.message(message), [("grpc-accept-encoding", "deflate")])
      #expect(response.envelopes.first?.flags == flags)
      if flags == 1 { #expect(ProtocolPeer.restored(response.envelopes[0].bytes, .deflate) == message) }
    }
  }

  @Test("The handler's choice holds for small messages, and for nobody who cannot read it")
  func chosen() async throws {
    let choosing = EchoHandlers { _, call in call.responseCompression = .gzip }
    try await ProtocolPeer.run(handlers: choosing) { peer, _ in
      let message: [UInt8] = [0x0a, 1, 0x61]
      let accepted = try await peer.answer(
        1, "Echo", "application/grpc", HTTP2Peer.message(message), [("grpc-accept-encoding", "gzip")])
      #expect(accepted.value("grpc-encoding") == "gzip" && accepted.envelopes.first?.flags == 1)
      #expect(ProtocolPeer.restored(accepted.envelopes.first?.bytes ?? []) == message)
      let refused = try await peer.answer(3, "Echo", "application/grpc", HTTP2Peer.message(message))
      #expect(refused.value("grpc-encoding") == nil && refused.envelopes.first?.flags == 0)
    }
  }

  @Test("Each message of a stream is compressed or not, as it was chosen before")
  func perMessage() async throws {
    // Names the compression first, so that the headers do, and then goes plain until the third message.
    let alternating = BeforeCall { call in
      call.responseCompression = .gzip
      call.responseCompression = .identity
    }
    let toggling = Toggling()
    try await ProtocolPeer.run(interceptors: [alternating, toggling]) { peer, _ in
      let response = try await peer.answer(
        1, "Count", "application/grpc", HTTP2Peer.message([0x08, 4]), [("grpc-accept-encoding", "gzip")])
      #expect(response.status == 0 && response.value("grpc-encoding") == "gzip")
      #expect(response.envelopes.map(\.flags) == [0, 1, 0, 1])
      #expect(
        response.envelopes.map { $0.flags == 1 ? ProtocolPeer.restored($0.bytes) : $0.bytes } == (1...4).map { [0x08, $0] })
    }
  }

  /// Compresses every second response.
  private struct Toggling: ServerInterceptor {
    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws { try await next(TogglingCall(call)) }
  }

  @Test("Compression that begins after the headers were sent is none")
  func late() async throws {
    try await ProtocolPeer.run(interceptors: [Toggling()]) { peer, _ in
      let response = try await peer.answer(
        1, "Count", "application/grpc", HTTP2Peer.message([0x08, 3]), [("grpc-accept-encoding", "gzip")])
      #expect(response.status == 0 && response.value("grpc-encoding") == nil)
      #expect(response.envelopes.map(\.flags) == [0, 0, 0])
    }
  }
}

/// A call that switches compression after each response.
// SAFETY: used where the call that it wraps is used: on one loop.
private final class TogglingCall: ServerCall, @unchecked Sendable {
  private let call: any ServerCall

  init(_ call: any ServerCall) { self.call = call }

  var method: MethodInfo { call.method }
  var metadata: Metadata { call.metadata }
  var deadline: Deadline? { call.deadline }
  var peer: Peer { call.peer }
  var initialMetadata: Metadata {
    get { call.initialMetadata }
    set { call.initialMetadata = newValue }
  }
  var trailingMetadata: Metadata {
    get { call.trailingMetadata }
    set { call.trailingMetadata = newValue }
  }
  var values: CallValues { call.values }
  func updateValues(_ body: (inout CallValues) -> Void) { call.updateValues(body) }
  var requestWasCompressed: Bool { call.requestWasCompressed }
  var responseCompression: MessageCompression {
    get { call.responseCompression }
    set { call.responseCompression = newValue }
  }
  var traffic: CallTraffic { call.traffic }

  func unaryRequest<M: Message>(_ type: M.Type) async throws(RPCError) -> M { try await call.unaryRequest(type) }
  func unaryResponse<M: Message>(_ message: M) async throws(RPCError) { try await call.unaryResponse(message) }
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? { try await call.receive(type) }
  func send<M: Message>(_ message: M) async throws(RPCError) {
    try await call.send(message)
    call.responseCompression = call.responseCompression == .identity ? .gzip : .identity
  }
}

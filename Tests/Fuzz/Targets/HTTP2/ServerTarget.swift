import ConnectWire
import EventLoop
import Glibc
import HTTP2
import RPC
import RPCServer
import RPCWire
import Synchronization
import TestAPI
import TestRandom

/// A server's connection, with real handlers behind it: two bytes of options, and then what the peer says.
///
/// The server runs on a loop that this target drives by itself, so that one input takes one course. What it answers is read as a
/// peer would, and judged; when the peer has gone, nothing of its calls is left.
final class ServerTarget: FuzzTarget {
  /// The bits of the first byte.
  private struct Options: OptionSet {
    let rawValue: UInt8
    /// The input begins with the first byte of the connection; otherwise a handshake goes before it.
    static let isWhole = Options(rawValue: 1)
    /// The peer waits for the server after each frame.
    static let isPatient = Options(rawValue: 2)
    /// The peer reads nothing before it has said everything.
    static let isDeaf = Options(rawValue: 4)
    /// The server is the one with narrow limits, compression and CORS.
    static let isNarrow = Options(rawValue: 8)
    /// The input comes in pieces whose size the second byte says.
    static let comesInPieces = Options(rawValue: 16)
    /// The peer closes without saying that nothing more comes.
    static let isAbrupt = Options(rawValue: 32)
    /// The server is told to drain when half of the input was said.
    static let isDrained = Options(rawValue: 64)
  }

  private let loop: EventLoop
  private let group: EventLoopGroup
  private let handlers = FuzzedEcho()
  private let connections = Counter()
  private let wide: RPCServer
  private let narrow: RPCServer
  private let mutator = FrameMutator(optionBytes: 2, templates: FrameTemplates.requests)

  init() {
    let loop = expect("no loop") { try EventLoop(name: "fuzzed") }
    self.loop = loop
    group = EventLoopGroup(driven: [loop])
    wide = Self.server(on: group, handlers, connections, isNarrow: false)
    narrow = Self.server(on: group, handlers, connections, isNarrow: true)
    // What the servers make when it is first asked for lives as long as they do: it is made now, while nothing counts as a leak.
    // (Where an object has weak references, LeakSanitizer does not see the way to their count.)
    for option in [Options(), .isNarrow] {
      for template in FrameTemplates.requests {
        let input = [option.rawValue, 0] + template(1).flatMap(\.bytes)
        input.withUnsafeBytes { run($0) }
      }
    }
  }

  func mutate(_ data: UnsafeMutablePointer<UInt8>, size: Int, room: Int, random: inout SeededRandom) -> Int {
    mutator.mutate(data, size: size, room: room, random: &random)
  }

  func run(_ input: UnsafeRawBufferPointer) {
    guard input.count > 2 else { return }
    let firstFreeDescriptor = Self.freeDescriptor()
    let options = Options(rawValue: input[0])
    let bytes = input.from(2)
    let isNarrow = options.contains(.isNarrow)
    // A server that drains never serves again.
    let server = options.contains(.isDrained) ? Self.server(on: group, handlers, connections, isNarrow: isNarrow) : nil
    let drained = Counter()
    let view = PeerView(ofClient: false)
    let frames = Frame.parse(bytes.array)
    do {
      var ours: Int32 = -1
      let theirs = SocketEnd.joined(to: &ours)
      loop.drive { (server ?? (isNarrow ? narrow : wide)).serve(ours, from: SocketAddress(.ipv4([127, 0, 0, 1], port: 1))) }
      let talk = Talk(loop: loop, view: view, isDeaf: options.contains(.isDeaf), frames)
      if !options.contains(.isWhole) { talk.say(Self.handshake, through: theirs) }
      for (index, piece) in pieces(bytes, frames, options, Int(input[1])).enumerated() {
        if index > 0, let server, drained.value == 0 { drain(server, drained) }
        guard talk.say(piece, through: theirs) else { break }
      }
      if let server, drained.value == 0 { drain(server, drained) }
      if !options.contains(.isAbrupt) {
        theirs.finish()
        talk.hear(from: theirs)
      }
    }
    require(loop.drive(), "the loop does not come to rest")
    require(connections.value == 0, "\(connections.value) connections are left")
    require(handlers.running == 0, "\(handlers.running) handlers are left")
    require(loop.load == 0, "the loop counts \(loop.load) connections")
    require(server == nil || drained.value == 2, "the drain does not end")
    require(Self.freeDescriptor() == firstFreeDescriptor, "a descriptor is left open")
    judge(view, sawHead: String(decoding: bytes, as: UTF8.self).contains("HEAD"))
  }

  private func drain(_ server: RPCServer, _ drained: Counter) {
    loop.drive {
      drained.add(1)
      loop.spawn {
        await server.drain(within: .seconds(60))
        drained.add(1)
      }
    }
  }

  // MARK: What the server said

  private func judge(_ view: PeerView, sawHead: Bool) {
    for (stream, exchange) in view.streams where exchange.isEnded && !exchange.isReset {
      let status = exchange.value(":status").flatMap { Int($0) }
      require(status.map { (200...599).contains($0) } ?? false, "stream \(stream) has the status \(status ?? -1)")
      let type = exchange.value("content-type") ?? ""
      if type.hasPrefix("application/grpc") { judge(grpc: exchange, isWeb: type.hasPrefix("application/grpc-web"), stream) }
      if type.hasPrefix("application/connect+") { judge(connect: exchange, stream) }
      if let length = exchange.value("content-length"), !sawHead {
        require(Int(length) == exchange.body.count, "stream \(stream) announces \(length) bytes and has \(exchange.body.count)")
      }
    }
  }

  private func judge(grpc exchange: PeerView.Exchange, isWeb: Bool, _ stream: UInt32) {
    let statuses = exchange.lists.joined().filter { $0.name.elementsEqual("grpc-status".utf8) }
    let envelopes = envelopes(exchange.body, stream)
    if isWeb && statuses.isEmpty {
      require(envelopes.last == Envelope.trailers, "a gRPC-Web response without trailers on stream \(stream)")
      require(envelopes.dropLast().allSatisfy { $0 <= 1 }, "envelopes behind the trailers on stream \(stream)")
    } else {
      require(statuses.count == 1, "\(statuses.count) statuses on stream \(stream)")
      let number = exchange.value("grpc-status").flatMap { Int($0) } ?? -1
      require((0...16).contains(number), "the status \(number) on stream \(stream)")
      require(envelopes.allSatisfy { $0 <= 1 }, "an envelope of an unknown kind on stream \(stream)")
    }
  }

  private func judge(connect exchange: PeerView.Exchange, _ stream: UInt32) {
    let envelopes = envelopes(exchange.body, stream)
    require(envelopes.last == Envelope.endOfStream, "a Connect stream without its end on stream \(stream)")
    require(envelopes.dropLast().allSatisfy { $0 <= 1 }, "envelopes behind the end of stream \(stream)")
  }

  /// The flags of a body's envelopes, which have to fill it.
  private func envelopes(_ body: [UInt8], _ stream: UInt32) -> [UInt8] {
    var flags: [UInt8] = []
    var offset = 0
    while offset < body.count {
      require(body.count - offset >= Envelope.prefixBytes, "a body that ends inside a prefix on stream \(stream)")
      flags.append(body[offset])
      offset += Envelope.prefixBytes + body[(offset + 1)..<(offset + 5)].reduce(0) { $0 << 8 | Int($1) }
    }
    require(offset == body.count, "a body that ends inside a message on stream \(stream)")
    return flags
  }

  // MARK: What the peer says

  private static let handshake = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, Frame.settings, 0, 0, 0, 0, 0]

  private func pieces(_ bytes: UnsafeRawBufferPointer, _ frames: [Frame], _ options: Options, _ size: Int) -> [[UInt8]] {
    if options.contains(.isPatient) {
      var pieces: [[UInt8]] = []
      var offset = options.contains(.isWhole) ? min(24, bytes.count) : 0
      if offset > 0 { pieces.append(Array(bytes[..<offset])) }
      while offset < bytes.count {
        let length =
          bytes.count - offset < 9 ? 0 : Int(bytes[offset]) << 16 | Int(bytes[offset + 1]) << 8 | Int(bytes[offset + 2])
        let end = min(offset + 9 + length, bytes.count)
        pieces.append(Array(bytes[offset..<end]))
        offset = end
      }
      return pieces
    }
    guard options.contains(.comesInPieces) else { return [bytes.array] }
    let step = max(size, bytes.count / 256 + 1)
    return stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0..<min($0 + step, bytes.count)]) }
  }

  // MARK: The servers

  private static func server(
    on group: EventLoopGroup, _ handlers: FuzzedEcho, _ connections: Counter, isNarrow: Bool
  ) -> RPCServer {
    var configuration = RPCServerConfiguration()
    configuration.http2.unreadRequestTime = .zero
    if isNarrow {
      configuration.http2.concurrentStreams = 4
      configuration.http2.headerListBytes = 1_024
      configuration.http2.streamWindowBytes = 4_096
      configuration.http2.connectionWindowBytes = 65_535
      configuration.http2.outputBytes = 16 << 10
      configuration.http2.streamOutputBytes = 1_024
      configuration.maximumRequestBytes = 1_024
      configuration.maximumHTTPBodyBytes = 512
      configuration.maximumRunningHandlers = 2
      configuration.maximumCallDuration = .zero
      configuration.responseCompression = .gzip
      configuration.minimumCompressedBytes = 16
      configuration.ignoresUnknownJSONFields = false
      configuration.cors = CORSPolicy(.list(["https://app.example.com", "https://b.example.com"]))
      configuration.messageRegistry = MessageJSON.registry
    }
    var events = RPCServerEvents()
    events.connectionsChanged = { connections.add($0) }
    let route = HTTPRoute("/hook") { request in
      HTTPServerResponse(
        200, headers: [("x-name", request.queryValue("name").flatMap { Metadata.isValidText($0) ? $0 : nil } ?? "nobody")],
        body: request.body)
    }
    return RPCServer(
      on: group,
      services: [EchoService.routes(handlers), HealthService(HealthStatus(services: ["echo"])).routes].withReflection(),
      http: [route], configuration: configuration, events: events)
  }

  /// The number that the next descriptor gets: higher when one more is open. libFuzzer opens some of its own between inputs.
  static func freeDescriptor() -> Int32 {
    let descriptor = dup(2)
    close(descriptor)
    return descriptor
  }
}

/// A number that closures of any isolation may change.
final class Counter: Sendable {
  private let storage = Atomic<Int>(0)

  var value: Int { storage.load(ordering: .relaxed) }

  func add(_ change: Int) { storage.add(change, ordering: .relaxed) }
}

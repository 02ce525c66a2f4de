import EventLoop
import Glibc
import HTTP2
import MessagesCore
import RPC
import RPCClient
import TestAPI
import TestRandom

/// A client's connection, with calls of every kind on it: two bytes of options, and then what the server says.
///
/// Channel and driver share one loop that this target drives by itself. Every call ends, whatever the server says, and leaves
/// nothing behind.
final class ClientTarget: FuzzTarget {
  /// The bits of the first byte, above the two that choose the protocol.
  private struct Options: OptionSet {
    let rawValue: UInt8
    /// Messages are JSON.
    static let isJSON = Options(rawValue: 4)
    /// Requests are compressed.
    static let compresses = Options(rawValue: 8)
    /// The input begins with the server's first byte; otherwise empty SETTINGS go before it.
    static let isWhole = Options(rawValue: 16)
    /// The server waits for the client after each frame.
    static let isPatient = Options(rawValue: 32)
    /// The server reads nothing before it has said everything.
    static let isDeaf = Options(rawValue: 64)
    /// Limits are narrow.
    static let isNarrow = Options(rawValue: 128)
  }

  private static let isCancelledHalfway: UInt8 = 128
  private static let isRetried: UInt8 = 64

  private let loop: EventLoop
  private let group: EventLoopGroup
  private let listener: Int32
  private let path: String
  private let mutator = FrameMutator(optionBytes: 2, templates: FrameTemplates.responses)

  init() {
    let loop = expect("no loop") { try EventLoop(name: "fuzzed") }
    self.loop = loop
    group = EventLoopGroup(driven: [loop])
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let path = "\(folder)/parley-fuzz-\(getpid()).sock"
    self.path = path
    unlink(path)
    let address = SocketAddress(.unix(path: path))
    let listener = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    require(listener >= 0 && address.withSockaddr { bind(listener, $0, $1) } == 0, "cannot bind \(path)")
    require(listen(listener, 64) == 0, "cannot listen on \(path)")
    self.listener = listener
    atexit { unlink("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/parley-fuzz-\(getpid()).sock") }
  }

  func mutate(_ data: UnsafeMutablePointer<UInt8>, size: Int, room: Int, random: inout SeededRandom) -> Int {
    mutator.mutate(data, size: size, room: room, random: &random)
  }

  func run(_ input: UnsafeRawBufferPointer) {
    guard input.count > 2 else { return }
    let firstFreeDescriptor = ServerTarget.freeDescriptor()
    let options = Options(rawValue: input[0])
    let choice = input[1]
    let bytes = input.from(2)
    let tally = CallTally()
    do {
      let channel = ClientChannel(to: .unix(path: path), on: group, configuration: configuration(options, choice))
      let calls = FuzzedCalls(channel: channel, tally: tally, options: CallOptions(prefersGET: choice & 16 != 0))
      var tasks: [Task<Void, Never>] = []
      loop.drive { tasks = calls.start(choice & 15 == 0 ? 1 : choice & 15, on: loop) }
      do {
        let theirs = SocketEnd(accept(listener, nil, nil))
        require(theirs.descriptor >= 0, "the client does not connect")
        _ = fcntl(theirs.descriptor, F_SETFL, O_NONBLOCK)
        speak(bytes, options, through: theirs) {
          if choice & Self.isCancelledHalfway != 0 { for task in tasks { task.cancel() } }
        }
      }
      require(loop.drive(), "the loop does not come to rest")
      loop.drive { for task in tasks { task.cancel() } }
      require(tally.ended == tasks.count, "\(tasks.count - tally.ended) calls do not end")
      loop.drive { loop.spawn { await channel.close() } }
    }
    require(loop.drive(), "the loop does not come to rest")
    // Connections that the channel tried for another attempt.
    while case let extra = accept(listener, nil, nil), extra >= 0 { close(extra) }
    require(loop.drive(), "the loop does not come to rest")
    require(ServerTarget.freeDescriptor() == firstFreeDescriptor, "a descriptor is left open")
  }

  private func speak(
    _ bytes: UnsafeRawBufferPointer, _ options: Options, through end: borrowing SocketEnd, halfway: () -> Void
  ) {
    let view = PeerView(ofClient: true)
    let frames = Frame.parse(bytes.array)
    let talk = Talk(loop: loop, view: view, isDeaf: options.contains(.isDeaf), frames)
    require(loop.drive(), "the loop does not come to rest")
    if !options.contains(.isDeaf) { talk.hear(from: end) }
    if !options.contains(.isWhole) { talk.say(Frame(type: Frame.settings, flags: 0, stream: 0, payload: []).bytes, through: end) }
    let pieces = options.contains(.isPatient) ? frames.map(\.bytes) : [bytes.array]
    for (index, piece) in pieces.enumerated() {
      if index == pieces.count / 2 { loop.drive { halfway() } }
      guard talk.say(piece, through: end) else { break }
    }
    end.finish()
    talk.hear(from: end)
  }

  private func configuration(_ options: Options, _ choice: UInt8) -> ClientChannelConfiguration {
    var configuration = ClientChannelConfiguration()
    configuration.wire = [.grpc, .grpc, .grpcWeb, .connect][Int(options.rawValue & 3)]
    configuration.codec = options.contains(.isJSON) ? .json : .proto
    configuration.compression = options.contains(.compresses) ? .gzip : .identity
    configuration.registry = MessageJSON.registry
    if options.contains(.isNarrow) {
      configuration.maximumResponseBytes = 64
      configuration.http2.headerListBytes = 512
      configuration.http2.streamWindowBytes = 4_096
      configuration.http2.connectionWindowBytes = 65_535
      configuration.http2.streamOutputBytes = 64
      configuration.retryBufferBytes = 64
    }
    if choice & Self.isRetried != 0 {
      configuration.serviceConfig = expect("the service config is refused") {
        try ServiceConfig(
          json: """
            {"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.000000001s",
            "maxBackoff":"0.000000001s","backoffMultiplier":1,"retryableStatusCodes":["ABORTED","NOT_FOUND","INTERNAL"]}}]}
            """)
      }
    }
    return configuration
  }
}

internal import Buffers
public import EventLoop
internal import Glibc

/// What all connections of one loop share: buffers for reading and writing, nghttp2's memory, and streams to reuse.
///
/// An idle connection therefore holds no buffer. Confined to its loop.
public final class HTTP2LoopResources {
  /// The loop that it belongs to.
  public let loop: EventLoop
  /// What each connection may cost.
  public let limits: HTTP2Limits
  /// What its connections have lived through.
  public internal(set) var statistics = HTTP2Statistics()

  /// What the responses that wait on this loop take.
  var responses: BudgetShare
  /// What the requests that wait on this loop take.
  var requests: BudgetShare
  /// The clients behind proxies; nil where no proxy is believed.
  let clients: ClientAccounts?
  let memory = SessionMemory()
  let options: SessionOptions
  /// Where sockets are read into.
  let readBuffer: UnsafeMutableRawBufferPointer
  /// Where TLS puts plaintext.
  private var plaintextBuffer: UnsafeMutableRawBufferPointer?
  /// Where frames are gathered for one write.
  let frames = ByteBuffer(capacity: 300 << 10)
  /// Where TLS puts the records of one write.
  let records = TLSOutput()
  /// Frames gathered before a write is due.
  static let writeBytes = 256 << 10
  static let readBytes = 128 << 10
  private static let keptStreams = 4_096
  private var streams: [HTTP2Stream] = []

  /// Resources for the connections of `loop`; `budgets` is what all loops of a server share.
  public init(
    _ loop: EventLoop, limits: HTTP2Limits = HTTP2Limits(), budgets: HTTP2Budgets? = nil, clients: ForwardedClients? = nil
  ) {
    self.loop = loop
    self.limits = limits
    self.clients = clients.map { ClientAccounts($0) }
    let budgets = budgets ?? HTTP2Budgets(limits)
    responses = BudgetShare(of: budgets.responses)
    requests = BudgetShare(of: budgets.requests)
    options = SessionOptions(limits)
    readBuffer = .allocate(byteCount: Self.readBytes, alignment: 16)
  }

  deinit {
    readBuffer.deallocate()
    plaintextBuffer?.deallocate()
  }

  func plaintext() -> UnsafeMutableRawBufferPointer {
    let buffer = plaintextBuffer ?? .allocate(byteCount: Self.readBytes, alignment: 16)
    plaintextBuffer = buffer
    return buffer
  }

  func takeStream(for connection: HTTP2Connection) -> HTTP2Stream { streams.popLast() ?? HTTP2Stream(on: connection) }

  /// Lets go of the streams that wait for their next use, and of their handlers, which may refer to whoever holds these resources.
  package func forgetStreams() { streams = [] }

  func giveBack(_ stream: consuming HTTP2Stream) {
    stream.recycle()
    if streams.count < Self.keptStreams { streams.append(stream) }
  }
}

// SAFETY: made on any thread and then used on its loop only, which debug builds assert.
extension HTTP2LoopResources: @unchecked Sendable {}

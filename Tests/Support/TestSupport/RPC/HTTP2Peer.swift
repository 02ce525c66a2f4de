public import EventLoop
internal import Glibc

/// One end of an HTTP/2 connection that says exactly what a test tells it to, and remembers all that it hears.
///
/// It answers SETTINGS and PING by itself unless told not to, and opens its windows wide at the start. Confined to its loop: use
/// it inside ``EventLoop/EventLoop/perform(_:)``.
public final class HTTP2Peer: DescriptorHandler {
  /// What came on one stream.
  public struct Exchange: Sendable {
    /// Header lists in the order in which they came.
    public var headers: [[(String, String)]] = []
    /// All DATA.
    public var body: [UInt8] = []
    /// Whether the other end has ended its side.
    public var isEnded = false
    /// The code of RST_STREAM, when one came.
    public var resetCode: UInt32?

    /// The last value of a header or trailer.
    public func value(_ name: String) -> String? { headers.joined().last { $0.0 == name }?.1 }
    /// All values of a header or trailer.
    public func values(_ name: String) -> [String] { headers.joined().filter { $0.0 == name }.map(\.1) }
    /// The gRPC status, when one came.
    public var status: Int? { value("grpc-status").flatMap { Int($0) } }
    /// Whether nothing more will come.
    public var isOver: Bool { isEnded || resetCode != nil }
  }

  /// The loop that it lives on.
  public let loop: EventLoop
  /// Frames heard, with their payload.
  public private(set) var frames: [HTTP2Frame] = []
  /// What came on each stream.
  public private(set) var streams: [UInt32: Exchange] = [:]
  /// Whether the other end has closed the connection.
  public private(set) var isClosed = false
  /// Whether SETTINGS and PING are answered.
  public var isPolite = true
  /// Bytes heard in all.
  public private(set) var received = 0
  /// Bytes that the socket has not taken yet.
  public var waitingBytes: Int { output.count - sentOffset }

  private struct Waiter {
    let condition: () -> Bool
    let continuation: UnsafeContinuation<Bool, Never>
    let timer: LoopTimer
  }

  private var descriptor: Int32
  private var watch: DescriptorWatch?
  private var input: [UInt8] = []
  private var inputOffset = 0
  private var output: [UInt8] = []
  private var sentOffset = 0
  private var isPaused = false
  private var expectsPreface: Bool
  private var fragments: [UInt8] = []
  private let decoder = HeaderDecoder()
  private var waiters: [Waiter] = []

  /// Takes over a connected, non-blocking socket.
  public init(_ descriptor: Int32, on loop: EventLoop, isServer: Bool) throws {
    loop.assertInLoop()
    self.loop = loop
    self.descriptor = descriptor
    expectsPreface = isServer
    watch = try loop.watch(descriptor, for: .readable, self)
  }

  /// Connects to a server, from another address of this machine where `source` is given, and says nothing yet.
  public static func connect(
    to address: SocketAddress, from source: SocketAddress? = nil, on loop: EventLoop, receiveBuffer: Int32? = nil
  ) throws -> HTTP2Peer {
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw TimedOut("no socket") }
    if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
    if let source, source.withSockaddr({ bind(descriptor, $0, $1) }) != 0 {
      Glibc.close(descriptor)
      throw TimedOut("cannot come from \(source)")
    }
    // On loopback this does not block: the kernel finishes the handshake while the server's queue has room.
    guard address.withSockaddr({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
      Glibc.close(descriptor)
      throw TimedOut("cannot connect to \(address)")
    }
    // A request in two writes must not wait for an acknowledgement of the first.
    var one: Int32 = 1
    if address.port != nil { setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4) }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    return try HTTP2Peer(descriptor, on: loop, isServer: false)
  }

  /// Connects, says preface, SETTINGS and a wide connection window, and waits for the server's SETTINGS.
  public static func open(
    to address: SocketAddress, from source: SocketAddress? = nil, on loop: EventLoop,
    settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)], receiveBuffer: Int32? = nil
  ) async throws -> HTTP2Peer {
    let peer = try connect(to: address, from: source, on: loop, receiveBuffer: receiveBuffer)
    peer.send(HTTP2Frame.preface)
    peer.send(.settings(settings), .windowUpdate(0, 0x7fff_0000))
    try await peer.wait("the server's SETTINGS") { peer.frames.contains { $0.type == 4 } }
    return peer
  }

  // MARK: Saying

  /// Sends bytes, as soon as the socket takes them.
  public func send(_ bytes: [UInt8]) {
    guard descriptor >= 0 else { return }
    if waitingBytes == 0 {
      output.removeAll(keepingCapacity: true)
      sentOffset = 0
    }
    output += bytes
    flush()
  }

  /// Sends frames.
  public func send(_ frames: HTTP2Frame...) { for frame in frames { send(frame.bytes) } }

  /// Begins or ends to ignore what comes: the kernel's buffers fill up.
  public func pauseReading(_ isPaused: Bool) {
    self.isPaused = isPaused
    updateInterest()
  }

  /// Closes the socket; `abruptly` with a TCP reset.
  public func close(abruptly: Bool = false) {
    guard descriptor >= 0 else { return }
    if abruptly {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
    watch?.cancel()
    watch = nil
    Glibc.close(descriptor)
    descriptor = -1
    isClosed = true
    tellWaiters()
  }

  // MARK: Hearing

  /// Waits until `condition` holds; it is asked after each event.
  public func wait(
    _ what: String, within limit: Duration = .seconds(20), until condition: @escaping () -> Bool
  ) async throws {
    loop.assertInLoop()
    if condition() { return }
    let timer = LoopTimer()
    let isMet = await withUnsafeContinuation { continuation in
      waiters.append(Waiter(condition: condition, continuation: continuation, timer: timer))
      timer.onFire = { [self, unowned timer] in
        guard let index = waiters.firstIndex(where: { $0.timer === timer }) else { return }
        waiters.remove(at: index).continuation.resume(returning: false)
      }
      loop.arm(timer, after: limit.withPatience)
    }
    guard isMet else { throw TimedOut("\(what): not within \(limit); \(frames.count) frames heard, closed: \(isClosed)") }
  }

  /// Waits until a stream is over, and returns all that came on it.
  public func response(_ stream: UInt32, within limit: Duration = .seconds(20)) async throws -> Exchange {
    try await wait("the end of stream \(stream)", within: limit) { [self] in streams[stream]?.isOver == true || isClosed }
    guard let exchange = streams[stream] else { throw TimedOut("the connection closed without a word on stream \(stream)") }
    return exchange
  }

  /// Waits until the other end has closed the connection.
  public func closed(within limit: Duration = .seconds(20)) async throws {
    try await wait("the end of the connection", within: limit) { [self] in isClosed }
  }

  /// The code of the last GOAWAY heard.
  public var goawayCode: UInt32? { frames.last { $0.type == HTTP2Frame.Kind.goaway.rawValue }?.number(at: 4) }

  /// Moves what the socket has ready, and tells whoever waits.
  public func descriptorIsReady(_ readiness: Readiness) {
    if readiness.contains(.writable) { flush() }
    if readiness.contains(.readable) || readiness.contains(.failed) { read() }
    tellWaiters()
  }

  private func read() {
    guard !isPaused, descriptor >= 0 else { return }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 {
        received += count
        input += buffer[..<count]
        parse()
      } else if count == 0 || errno != EAGAIN {
        return close()
      } else {
        return
      }
    }
  }

  private func parse() {
    if expectsPreface, input.count >= HTTP2Frame.preface.count {
      expectsPreface = false
      inputOffset = HTTP2Frame.preface.count
    }
    while !expectsPreface, input.count - inputOffset >= 9 {
      let length = Int(input[inputOffset]) << 16 | Int(input[inputOffset + 1]) << 8 | Int(input[inputOffset + 2])
      guard input.count - inputOffset >= 9 + length else { break }
      let stream = input[(inputOffset + 5)..<(inputOffset + 9)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let payload = Array(input[(inputOffset + 9)..<(inputOffset + 9 + length)])
      heard(HTTP2Frame(type: input[inputOffset + 3], flags: input[inputOffset + 4], stream: stream & 0x7fff_ffff, payload))
      inputOffset += 9 + length
    }
    if inputOffset > 0 {
      input.removeFirst(inputOffset)
      inputOffset = 0
    }
  }

  private func heard(_ frame: HTTP2Frame) {
    switch HTTP2Frame.Kind(rawValue: frame.type) {
    case .data:
      streams[frame.stream, default: .init()].body += frame.payload
      if frame.flags & HTTP2Frame.endStream != 0 { streams[frame.stream]?.isEnded = true }
      return
    case .headers, .continuation:
      if frame.flags & HTTP2Frame.endStream != 0 && frame.type == 1 { streams[frame.stream, default: .init()].isEnded = true }
      fragments += frame.payload
      if frame.flags & HTTP2Frame.endHeaders != 0 {
        streams[frame.stream, default: .init()].headers.append(decoder.decode(fragments) ?? [("malformed", "")])
        fragments = []
      }
      return
    case .reset: streams[frame.stream, default: .init()].resetCode = frame.number()
    case .settings where frame.flags == 0 && isPolite: send(HTTP2Frame(.settings, flags: HTTP2Frame.acknowledgement))
    case .ping where frame.flags == 0 && isPolite:
      send(HTTP2Frame(.ping, flags: HTTP2Frame.acknowledgement, frame.payload))
    default: break
    }
    frames.append(frame)
  }

  private func flush() {
    while waitingBytes > 0, descriptor >= 0 {
      let count = output.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sentOffset, $0.count - sentOffset, Int32(MSG_NOSIGNAL))
      }
      if count < 0 { break }
      sentOffset += count
    }
    updateInterest()
  }

  private func updateInterest() {
    var interest: Readiness = isPaused ? [] : .readable
    if waitingBytes > 0 { interest.insert(.writable) }
    watch?.setInterest(interest)
  }

  private func tellWaiters() {
    for waiter in waiters where waiter.condition() {
      guard let index = waiters.firstIndex(where: { $0.timer === waiter.timer }) else { continue }
      waiters.remove(at: index)
      loop.disarm(waiter.timer)
      waiter.continuation.resume(returning: true)
    }
  }
}

// SAFETY: used on its loop only, which debug builds assert.
extension HTTP2Peer: @unchecked Sendable {}

import EventLoop
import Glibc
import HTTP2
import TestSupport

/// A TLS client that gets through its handshake, and then sends a record without its end.
final class SlowTLSPeer: DescriptorHandler {
  private let loop: EventLoop
  private let descriptor: Int32
  private let isGlued: Bool
  private let engine: TLSEngine
  private let output = TLSOutput()
  private let plaintext = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 16)
  private var watch: DescriptorWatch?
  private let ready = Signal()
  private let end = Signal()

  /// Connects, says preface and SETTINGS, and waits until the server says something.
  ///
  /// - Parameter isGlued: Whether half of another record follows at once.
  static func open(to server: EchoServer, on loop: EventLoop, endingAmidRecord isGlued: Bool = false) async throws -> SlowTLSPeer
  {
    let peer = try SlowTLSPeer(server, on: loop, isGlued)
    try await peer.ready.wait(atMost: .seconds(30))
    return peer
  }

  private init(_ server: EchoServer, on loop: EventLoop, _ isGlued: Bool) throws {
    self.loop = loop
    self.isGlued = isGlued
    let context = try TLSContext(.client(trustRoots: .certificates(.bytes(server.authority ?? []))))
    engine = try TLSEngine(context, serverName: "127.0.0.1")
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard server.address.withSockaddr({ Glibc.connect(descriptor, $0, $1) }) == 0 else { throw TimedOut("no connection") }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    watch = try loop.watch(descriptor, for: .readable, self)
    engine.start(output: output)
    flush()
  }

  deinit { plaintext.deallocate() }

  /// Half of a record: OpenSSL gives nothing of it before the rest has come.
  func sendPartOfRecord() {
    _ = engine.write(UnsafeRawBufferPointer(start: plaintext.baseAddress, count: 1_000), output: output)
    flush(without: 500)
  }

  /// Waits until the server has closed.
  func closed() async throws {
    try await end.wait(atMost: .seconds(30))
    Glibc.close(descriptor)
  }

  func descriptorIsReady(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 32 << 10)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 && errno == EAGAIN { return }
      guard count > 0 else {
        watch?.cancel()
        watch = nil
        return end.fire()
      }
      buffer.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    while true {
      let event = engine.receive(&rest, into: plaintext, output: output)
      flush()
      switch event {
      case .established:
        let opening = HTTP2Frame.preface + HTTP2Frame.settings([]).bytes
        _ = opening.withUnsafeBytes { engine.write($0, output: output) }
        if isGlued { sendPartOfRecord() } else { flush() }
      case .plaintext: ready.fire()
      case .needsInput, .closed, .failed: return
      }
    }
  }

  private func flush(without held: Int = 0) {
    let bytes = output.bytes
    if !bytes.isEmpty { _ = send(descriptor, bytes.baseAddress, bytes.count - held, Int32(MSG_NOSIGNAL)) }
    output.removeAll()
  }
}

// SAFETY: used on its loop only.
extension SlowTLSPeer: @unchecked Sendable {}

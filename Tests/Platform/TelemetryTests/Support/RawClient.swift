import EventLoop
import Glibc

/// A TCP client that sends bytes as they are. Used on its loop.
// SAFETY: its state is touched on that loop alone, which also calls the handler and the timer.
final class RawClient: DescriptorHandler, @unchecked Sendable {
  struct TimedOut: Error {}

  private let descriptor: Int32
  private let loop: EventLoop
  private var watch: DescriptorWatch?
  private let timer = LoopTimer()
  private var waiting: (isDone: (RawClient) -> Bool, continuation: CheckedContinuation<Bool, Never>)?
  private(set) var received: [UInt8] = []
  private(set) var hasEnded = false

  init(to address: SocketAddress, on loop: EventLoop) throws {
    self.loop = loop
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
    // Loopback: the kernel completes the connection without the listener's help.
    guard address.withSockaddr({ connect(descriptor, $0, $1) }) == 0 else { throw TimedOut() }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    watch = try loop.watch(descriptor, for: .readable, self)
  }

  var text: String { String(decoding: received, as: UTF8.self) }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

  /// Waits until what was received makes `isDone` true.
  func wait(atMost limit: Duration = .seconds(10), until isDone: @escaping (RawClient) -> Bool) async throws {
    if isDone(self) { return }
    let isInTime = await withCheckedContinuation { continuation in
      waiting = (isDone, continuation)
      timer.onFire = { [unowned self] in resume(false) }
      loop.arm(timer, after: limit)
    }
    if !isInTime { throw TimedOut() }
  }

  /// Sends a request and waits for so many answers in all, or the end.
  func exchange(_ request: String, answers: Int = 1) async throws -> String {
    send(request)
    try await wait { $0.hasEnded || $0.text.components(separatedBy: "HTTP/1.1 ") > answers && $0.text.hasSuffix("\n") }
    return text
  }

  func stopReading() { watch?.setInterest([]) }

  func readAgain() { watch?.setInterest(.readable) }

  func close() {
    guard let watch else { return }
    watch.cancel()
    self.watch = nil
    loop.disarm(timer)
    Glibc.close(descriptor)
  }

  func descriptorIsReady(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = read(descriptor, &buffer, buffer.count)
    if count > 0 {
      received.append(contentsOf: buffer[..<count])
    } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
      hasEnded = true
      watch?.setInterest([])
    }
    if let waiting, waiting.isDone(self) { resume(true) }
  }

  private func resume(_ isInTime: Bool) {
    loop.disarm(timer)
    let waiting = waiting
    self.waiting = nil
    waiting?.continuation.resume(returning: isInTime)
  }
}

extension String {
  /// How many parts the separator makes.
  fileprivate func components(separatedBy separator: String) -> Int {
    split(separator: separator, omittingEmptySubsequences: false).count
  }
}

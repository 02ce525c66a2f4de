public import EventLoop
internal import Glibc
internal import Synchronization

/// Where log lines go: one descriptor, to which whole lines are written.
///
/// Without loops, each line is one write. With ``gather(on:)``, what is logged on a loop is gathered during the tick and
/// written at its end, so that a thousand calls in a tick cost one system call; a line of level `error` or above is written
/// with all before it at once. A line is never cut or mixed with another, and never dropped while the descriptor takes it.
public final class LogSink: Sendable {
  /// The descriptor that lines are written to; not closed.
  public let descriptor: Int32
  /// Lines that could not be written, since nobody reads any more.
  public var lostWrites: Int { lost.load(ordering: .relaxed) }

  private let lost = Atomic(0)
  private let isWriting = Mutex(())
  private let buffers = AtomicLazyReference<Buffers>()
  /// The address of what `buffers` holds: read for every line, without counting references.
  private let buffersAddress = Atomic<UInt>(0)

  private final class Buffers: Sendable {
    let all: [LoopLogBuffer]
    init(_ all: [LoopLogBuffer]) { self.all = all }
  }

  /// A sink on a descriptor; 1 is standard output, 2 (the default) standard error.
  public init(descriptor: Int32 = 2) { self.descriptor = descriptor }

  /// Gathers the lines of these loops from now on. Only the first call counts.
  public func gather(on loops: [EventLoop]) {
    let kept = buffers.storeIfNil(Buffers(loops.map { LoopLogBuffer(on: $0, sink: self) }))
    buffersAddress.store(UInt(bitPattern: Unmanaged.passUnretained(kept).toOpaque()), ordering: .releasing)
  }

  /// The buffer of the loop that the caller is on, if lines are gathered there.
  var currentBuffer: LoopLogBuffer? {
    guard let address = UnsafeRawPointer(bitPattern: buffersAddress.load(ordering: .acquiring)) else { return nil }
    return Unmanaged<Buffers>.fromOpaque(address)._withUnsafeGuaranteedRef { buffers in
      for buffer in buffers.all where buffer.loop.isCurrent { return buffer }
      return nil
    }
  }

  /// The same, with the loop's cache of the time of day.
  func timedLine(_ nanoseconds: Int, _ body: (inout [UInt8], inout TimestampCache) -> Void) {
    if let buffer = currentBuffer {
      buffer.append { body(&$0, &buffer.timestamp) }
    } else {
      var cache = TimestampCache()
      line(isUrgent: false) { body(&$0, &cache) }
    }
  }

  /// Adds one line; `body` appends its bytes, line feed included.
  func line(isUrgent: Bool, _ body: (inout [UInt8]) -> Void) {
    if let buffer = currentBuffer {
      buffer.append(body)
      if isUrgent { buffer.flush() }
    } else {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(512)
      body(&bytes)
      write(bytes)
    }
  }

  /// Writes whole lines, however many writes it takes.
  func write(_ bytes: [UInt8]) {
    isWriting.withLock { _ in
      bytes.withUnsafeBytes { bytes in
        var start = 0
        while start < bytes.count {
          let count = Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
          if count >= 0 {
            start += count
          } else if errno == EAGAIN {
            // Somebody made the descriptor non-blocking (a terminal or pipe shared with another program).
            var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            Glibc.poll(&poll, 1, 100)
          } else if errno != EINTR {
            lost.add(1, ordering: .relaxed)
            return
          }
        }
      }
    }
  }
}

/// The lines of one loop and one tick.
// SAFETY: used on its loop only.
final class LoopLogBuffer: EndOfTickWork, @unchecked Sendable {
  let loop: EventLoop
  /// The time of day up to the second, formatted once per second.
  var timestamp = TimestampCache()
  private unowned let sink: LogSink
  private var bytes: [UInt8] = []
  private var isScheduled = false
  private var isLast = false
  /// Written before the end of the tick when there is more.
  private static let highWater = 64 << 10

  init(on loop: EventLoop, sink: LogSink) {
    self.loop = loop
    self.sink = sink
  }

  func append(_ body: (inout [UInt8]) -> Void) {
    body(&bytes)
    if bytes.count >= Self.highWater { return flush() }
    guard !isScheduled else { return }
    isScheduled = true
    loop.atEndOfTick(self)
  }

  func flush() {
    guard !bytes.isEmpty else { return }
    sink.write(bytes)
    bytes.removeAll(keepingCapacity: true)
  }

  func endOfTick() {
    // Once more behind all others: nobody's answer waits for its line to be written.
    guard isLast else {
      isLast = true
      return loop.atEndOfTick(self)
    }
    isLast = false
    isScheduled = false
    flush()
  }
}

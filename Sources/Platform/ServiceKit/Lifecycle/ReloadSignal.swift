internal import CShims
internal import EventLoop
internal import Glibc

/// SIGHUP as something that happens again and again: each time, files are read again.
///
/// One per process: signals are the process's.
// SAFETY: everything but the descriptor is used on the loop only.
final class ReloadSignal: DescriptorHandler, @unchecked Sendable {
  private let descriptor: Int32
  private let loop: EventLoop
  private var watch: DescriptorWatch?
  private var body: (@Sendable () -> Void)?

  /// Catches the signal.
  init(on loop: EventLoop) throws(EventLoopError) {
    self.loop = loop
    descriptor = parley_make_eventfd()
    guard descriptor >= 0, parley_catch_hangup(descriptor) == 0 else {
      throw EventLoopError(.systemCall, "SIGHUP cannot be caught: \(String(cString: strerror(errno)))", errno: errno)
    }
  }

  /// Before there is anything to read again, the signal must not end the process, as it would by default.
  static func ignore() { _ = parley_catch_hangup(-1) }

  /// Calls `body` on the loop for each signal; several that come together count as one.
  func onEach(_ body: @escaping @Sendable () -> Void) {
    loop.execute { [self] in
      self.body = body
      watch = try? loop.watch(descriptor, for: .readable, self)
    }
  }

  /// Stops waiting; the signal stays caught. Before the loop ends.
  func stop() {
    loop.execute { [self] in
      watch?.cancel()
      watch = nil
      body = nil
    }
  }

  func descriptorIsReady(_ readiness: Readiness) {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
    body?()
  }
}

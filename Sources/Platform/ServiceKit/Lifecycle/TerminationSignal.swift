internal import CShims
internal import EventLoop
internal import Glibc

/// SIGTERM and SIGINT as something to wait for. The second one ends the process at once, whatever it is doing.
///
/// One per process: signals are the process's.
// SAFETY: everything but the descriptor is used on the loop only.
final class TerminationSignal: DescriptorHandler, @unchecked Sendable {
  private let descriptor: Int32
  private let loop: EventLoop
  private var watch: DescriptorWatch?
  private var waiting: (@Sendable (Int32) -> Void)?

  /// Catches the signals and ignores SIGPIPE.
  init(on loop: EventLoop) throws(EventLoopError) {
    self.loop = loop
    descriptor = parley_make_eventfd()
    guard descriptor >= 0, parley_catch_termination(descriptor) == 0 else {
      throw EventLoopError(.systemCall, "signals cannot be caught: \(String(cString: strerror(errno)))", errno: errno)
    }
  }

  /// Calls `body` on the loop, with the signal's number, once the first signal comes.
  func onFirst(_ body: @escaping @Sendable (Int32) -> Void) {
    loop.execute { [self] in
      waiting = body
      watch = try? loop.watch(descriptor, for: .readable, self)
    }
  }

  /// Stops waiting; the signals stay caught. Before the loop ends.
  func stop() {
    loop.execute { [self] in
      watch?.cancel()
      watch = nil
      waiting = nil
    }
  }

  func descriptorIsReady(_ readiness: Readiness) {
    watch?.cancel()
    watch = nil
    waiting?(parley_termination_signal())
    waiting = nil
  }
}

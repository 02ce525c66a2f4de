internal import Glibc

/// SIGTERM and SIGINT for a program whose main thread has nothing to do but to wait for them.
public enum TerminationSignals {
  private static let handled: [(number: Int32, name: String)] = [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")]

  /// Holds the signals back in all threads for ``wait()``. To be called before any thread is started: threads inherit the mask.
  public static func hold() {
    var set = signals()
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Blocks the calling thread until one comes; the next one then ends the process at once.
  ///
  /// - Returns: The signal's name.
  @discardableResult
  public static func wait() -> String {
    var set = signals()
    var number: Int32 = 0
    sigwait(&set, &number)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    return handled.first { $0.number == number }?.name ?? "signal \(number)"
  }

  private static func signals() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in handled { sigaddset(&set, signal.number) }
    return set
  }
}

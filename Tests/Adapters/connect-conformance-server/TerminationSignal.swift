import Glibc

/// The signals that ask the program to end.
enum TerminationSignal {
  private static let handled: [(number: Int32, name: String)] = [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")]

  /// Holds the signals back for ``wait()``. To be called before any thread is started: threads inherit the mask.
  static func block() {
    var set = signals()
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Blocks the calling thread until one comes; the next one then ends the process at once.
  static func wait() -> String {
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

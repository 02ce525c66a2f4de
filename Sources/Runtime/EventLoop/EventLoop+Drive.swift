internal import CShims

/// A loop without a thread of its own: whoever has it makes it go on, step by step. Fuzzing needs that, where one input has to take
/// the same course each time.
extension EventLoop {
  /// Makes the calling thread the loop's for as long as this takes, runs `body`, and then ticks until nothing is left to do that
  /// does not wait for a descriptor, a timer or another thread. Never together with ``run()``.
  ///
  /// - Parameters:
  ///   - ticks: The most ticks.
  ///   - body: Runs first, on the loop.
  /// - Returns: Whether the loop came to rest.
  @discardableResult
  package func drive(atMost ticks: Int = 10_000, _ body: () -> Void = {}) -> Bool {
    parley_set_current_loop(Unmanaged.passUnretained(self).toOpaque())
    defer { parley_set_current_loop(nil) }
    body()
    // A timer that was due, what its task wrote, and what that made ready take a tick each.
    var quietTicks = 0
    for _ in 0..<ticks {
      quietTicks = tick(waits: false) == 0 && !hasWaitingWork ? quietTicks + 1 : 0
      if quietTicks == 3 { return true }
    }
    return false
  }
}

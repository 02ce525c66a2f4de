internal import EventLoop

/// Feeds systemd's watchdog as long as every loop turns, at half the interval that systemd allows.
struct Watchdog: Sendable {
  private let systemd: SystemdNotifier
  private let liveness: LoopLiveness

  init(_ systemd: SystemdNotifier, _ liveness: LoopLiveness) {
    self.systemd = systemd
    self.liveness = liveness
  }

  /// Until the task is cancelled; at once when systemd wants no sign of life.
  func run() async {
    guard let interval = systemd.watchdogInterval else { return }
    // A loop that stands still for half the interval is not told from one that never goes on: systemd decides after the whole.
    while (try? await Task.sleep(for: interval / 2)) != nil {
      if liveness.stalled(for: interval / 2).isEmpty { systemd.alive() }
    }
  }
}

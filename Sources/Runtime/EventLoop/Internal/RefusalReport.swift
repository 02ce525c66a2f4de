/// Gathers what a listener refused, and tells it at most once a second: a flood must not become a flood of log lines.
// SAFETY: used on the listener's loop only.
final class RefusalReport: @unchecked Sendable {
  private static let interval = Duration.seconds(1)

  private let loop: EventLoop
  private let tell: @Sendable (AcceptRefusals) -> Void
  private let timer = LoopTimer()
  private var refusals = AcceptRefusals()
  private var lastTold = MonotonicInstant(nanoseconds: 0)

  init(on loop: EventLoop, _ tell: @escaping @Sendable (AcceptRefusals) -> Void) {
    self.loop = loop
    self.tell = tell
    timer.onFire = { [unowned self] in finish() }
  }

  func add(_ refusal: AcceptGate.Refusal, _ peer: SocketAddress) {
    switch refusal {
    case .full: refusals.full += 1
    case .fullForAddress: refusals.fullForAddress += 1
    }
    refusals.lastPeer = peer
    tellInTime()
  }

  func addOutOfDescriptors(_ peer: SocketAddress) {
    refusals.outOfDescriptors += 1
    refusals.lastPeer = peer
    tellInTime()
  }

  /// Tells what was not told yet.
  func finish() {
    loop.disarm(timer)
    guard refusals.count > 0 else { return }
    let told = refusals
    refusals = AcceptRefusals()
    lastTold = loop.now
    tell(told)
  }

  private func tellInTime() {
    guard !timer.isArmed else { return }
    let due = lastTold.advanced(by: Self.interval)
    if due <= loop.now { finish() } else { loop.arm(timer, at: due) }
  }
}

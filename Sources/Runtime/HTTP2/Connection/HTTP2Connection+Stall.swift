internal import Buffers
internal import CNghttp2
internal import EventLoop

/// A peer that asks and does not take the answer must not keep what waits for it for ever.
extension HTTP2Connection {
  /// Looks again in a while whether what waits has moved. Asked at the end of each tick in which something may wait.
  func watchForStall() {
    guard role == .server, backlog != nil || !streams.isEmpty else { return }
    let timer = stallTimer ?? makeStallTimer()
    if !timer.isArmed { loop.arm(timer, after: resources.limits.writeStallTimeout / 4) }
  }

  private func makeStallTimer() -> LoopTimer {
    let timer = LoopTimer { [unowned self] in endStalled() }
    stallTimer = timer
    return timer
  }

  private func endStalled() {
    let limit = resources.limits.writeStallTimeout
    if connectionStall.isOver(limit, isWaiting: backlog != nil, at: loop.now) {
      resources.statistics.stalls += 1
      return close(HTTP2Error(.stalled, "the peer took nothing for \(limit)"))
    }
    for stream in streams where stream.stall.isOver(limit, isWaiting: !stream.outbound.isEmpty, at: loop.now) {
      resources.statistics.stalls += 1
      stream.reset(.cancel)
    }
    watchForStall()
  }
}

/// Since when something that waits to be sent has not moved.
struct Stall {
  /// Something has been sent since the last look.
  var hasMoved = false
  private var since: MonotonicInstant?

  /// Whether what waits has waited for so long, as far as looks from time to time can tell.
  mutating func isOver(_ limit: Duration, isWaiting: Bool, at now: MonotonicInstant) -> Bool {
    defer { hasMoved = false }
    guard isWaiting, !hasMoved, let since else {
      since = isWaiting ? now : nil
      return false
    }
    return now.duration(since: since) >= limit
  }
}

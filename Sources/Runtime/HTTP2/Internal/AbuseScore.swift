internal import EventLoop

/// A bucket of what a client did without any use: it fills with each ``Glitch``, and empties with time and with completed calls.
struct AbuseScore {
  /// So many calls that were answered whole make up for one glitch: a tenth of resets among them is a busy proxy's share, a half is not.
  static let callsPerGlitch = 10.0

  private var level = 0.0
  private var levelTime = MonotonicInstant(nanoseconds: 0)

  /// Adds what a glitch costs.
  ///
  /// - Returns: Whether it is one too many.
  mutating func add(_ cost: Double, at now: MonotonicInstant, _ limits: HTTP2Limits) -> Bool {
    settle(now, limits)
    // Whoever goes on although nothing of it is served any more is forgiven in twice the time, and no later.
    level = min(level + cost, Double(limits.glitchBurst) * 2)
    return level > Double(limits.glitchBurst)
  }

  /// A call was answered whole.
  @inline(__always)
  mutating func completed() {
    if level > 0 { level = max(0, level - 1 / Self.callsPerGlitch) }
  }

  /// Whether one too many has been added lately.
  mutating func isOver(at now: MonotonicInstant, _ limits: HTTP2Limits) -> Bool {
    guard level > Double(limits.glitchBurst) else { return false }
    settle(now, limits)
    return level > Double(limits.glitchBurst)
  }

  func isZero(at now: MonotonicInstant, _ limits: HTTP2Limits) -> Bool {
    var copy = self
    copy.settle(now, limits)
    return copy.level == 0
  }

  private mutating func settle(_ now: MonotonicInstant, _ limits: HTTP2Limits) {
    let elapsed = Double(now.nanoseconds &- min(levelTime.nanoseconds, now.nanoseconds)) / 1e9
    levelTime = now
    level = max(0, level - elapsed * Double(limits.glitchesPerSecond))
  }
}

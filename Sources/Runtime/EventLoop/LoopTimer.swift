/// A timer that can be armed, moved and disarmed any number of times without allocating.
///
/// Its owner keeps it (a stream's deadline, a connection's idle limit); the loop holds it only while it is armed.
/// Confined to the loop that it was armed on.
public final class LoopTimer {
  /// What happens when the time has come; called on the loop, at most once per arming.
  public var onFire: () -> Void
  /// When it will fire; meaningless while not armed.
  public internal(set) var deadline = MonotonicInstant.distantFuture
  var heapIndex = -1

  /// A timer that is not armed yet.
  public init(_ onFire: @escaping () -> Void = {}) { self.onFire = onFire }

  /// Whether the loop will fire it.
  public var isArmed: Bool { heapIndex >= 0 }
}

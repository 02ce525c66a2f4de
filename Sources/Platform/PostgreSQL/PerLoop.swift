public import EventLoop

/// One value for each loop of a group.
public struct PerLoop<Value: Sendable>: Sendable {
  private let entries: [(loop: EventLoop, value: Value)]

  /// Makes one value for each of the loops, of which there is at least one.
  public init(_ loops: [EventLoop], _ make: (EventLoop) -> Value) {
    precondition(!loops.isEmpty, "a group has at least one loop")
    entries = loops.map { ($0, make($0)) }
  }

  /// The value of the loop that the caller is on; the first one's for callers elsewhere.
  public var here: Value {
    for entry in entries where entry.loop.isCurrent { return entry.value }
    return entries[0].value
  }
}

public import EventLoop
internal import Synchronization

/// Work that many want done at once and that is done once: whoever comes while it is under way shares its outcome.
///
/// The work runs in a task of its own, so one who gives up takes nothing from the others; it must bound its own time.
public final class SingleFlight<Value: Sendable>: Sendable {
  private struct State {
    var isUnderWay = false
    var waiters: [UInt64: CheckedContinuation<Value?, Never>] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())
  /// Where work is started by callers that are on no loop.
  private let loop: EventLoop

  /// Nothing is under way.
  ///
  /// - Parameter loop: Where work runs that callers on no loop start.
  public init(on loop: EventLoop) { self.loop = loop }

  /// Waits for the work under way, or starts it.
  ///
  /// What it leaves behind must be in place when `work` returns: from then on the next caller starts it anew.
  ///
  /// - Returns: What the work returned; nil when the calling task was cancelled first.
  public func join(_ work: @escaping @Sendable () async -> Value) async -> Value? {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isCancelled, isFirst) = state.withLock { state in
          // Cancelled before this line, the handler below found nobody to wake.
          guard !Task.isCancelled else { return (true, false) }
          state.waiters[id] = continuation
          defer { state.isUnderWay = true }
          return (false, !state.isUnderWay)
        }
        if isCancelled { continuation.resume(returning: nil) } else if isFirst { start(work) }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: nil)
    }
  }

  private func start(_ work: @escaping @Sendable () async -> Value) {
    (EventLoop.current ?? loop).spawn {
      let value = await work()
      let waiters = self.state.withLock { state in
        defer {
          state.isUnderWay = false
          state.waiters = [:]
        }
        return state.waiters.values
      }
      for waiter in waiters { waiter.resume(returning: value) }
    }
  }
}

internal import Synchronization

/// What a test waited for did not happen.
public struct TimedOut: Error, CustomStringConvertible {
  /// What was waited for.
  public let description: String

  /// Names what was waited for.
  public init(_ description: String) { self.description = description }
}

/// A number that anybody may change and tests may wait for: how many handlers run, how many connections are open.
public final class Tally: Sendable {
  private struct Waiter {
    let id: Int
    let condition: @Sendable (Int) -> Bool
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var value = 0
    var next = 0
    var waiters: [Waiter] = []
  }

  private let state = Mutex(State())
  private let name: String

  /// Zero, under a name for messages.
  public init(_ name: String) { self.name = name }

  /// The number now.
  public var value: Int { state.withLock { $0.value } }

  /// Changes the number and tells whoever waited for it.
  public func add(_ change: Int = 1) {
    let met = state.withLock { state in
      state.value += change
      let value = state.value
      let met = state.waiters.filter { $0.condition(value) }
      state.waiters.removeAll { waiter in met.contains { $0.id == waiter.id } }
      return met
    }
    for waiter in met { waiter.continuation.resume(returning: true) }
  }

  /// Waits until the number meets `condition`.
  ///
  /// - Throws: ``TimedOut``.
  public func wait(within limit: Duration = .seconds(20), for condition: @escaping @Sendable (Int) -> Bool) async throws {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    let timeout = Task {
      try await Task.sleep(for: limit.withPatience)
      let waiter = state.withLock { state in
        defer { state.waiters.removeAll { $0.id == id } }
        return state.waiters.first { $0.id == id }
      }
      waiter?.continuation.resume(returning: false)
    }
    defer { timeout.cancel() }
    let isMet = await withCheckedContinuation { continuation in
      let already = state.withLock { state in
        if condition(state.value) { return true }
        state.waiters.append(Waiter(id: id, condition: condition, continuation: continuation))
        return false
      }
      if already { continuation.resume(returning: true) }
    }
    if !isMet { throw TimedOut("\(name) stood at \(value) after \(limit)") }
  }

  /// Waits until the number is `value`.
  public func reaches(_ value: Int, within limit: Duration = .seconds(20)) async throws {
    try await wait(within: limit) { $0 >= value }
  }
}

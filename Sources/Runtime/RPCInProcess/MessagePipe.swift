internal import MessagesCore
internal import RPC
internal import Synchronization

/// The messages of one direction of a call, of which a bounded number may wait for the reader.
final class MessagePipe: Sendable {
  private enum End {
    case finished
    case failed(RPCError)
  }

  private struct State {
    var messages: [any Message] = []
    var end: End?
    var readers: [UnsafeContinuation<Void, Never>] = []
    var writers: [UnsafeContinuation<Void, Never>] = []
  }

  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) { self.capacity = capacity }

  /// Adds a message once there is room for it.
  ///
  /// - Returns: Whether it was added; not when the pipe has ended meanwhile.
  func send(_ message: any Message) async -> Bool {
    while true {
      let isTaken = change { state -> Bool? in
        guard state.end == nil else { return false }
        guard state.messages.count < capacity else { return nil }
        state.messages.append(message)
        return true
      }
      if let isTaken { return isTaken }
      await wait(\.writers) { $0.end != nil || $0.messages.count < self.capacity }
    }
  }

  /// Adds a message although there may be no room; does nothing once the pipe has ended.
  func push(_ message: any Message) { change { state in if state.end == nil { state.messages.append(message) } } }

  /// Says that no message follows. Those that wait can still be read; then come the end or the error.
  func finish(_ error: RPCError? = nil) {
    change { state in if state.end == nil { state.end = error.map(End.failed) ?? .finished } }
  }

  /// Ends at once: what waits is dropped.
  func abandon(_ error: RPCError) {
    change { state in
      state.messages = []
      state.end = .failed(error)
    }
  }

  /// The next message, or nil after the last.
  func receive() async throws(RPCError) -> (any Message)? {
    while true {
      let next = change { state -> Result<(any Message)?, RPCError>? in
        guard state.messages.isEmpty else { return .success(state.messages.removeFirst()) }
        switch state.end {
        case .finished: return .success(nil)
        case .failed(let error): return .failure(error)
        case nil: return nil
        }
      }
      if let next { return try next.get() }
      await wait(\.readers) { $0.end != nil || !$0.messages.isEmpty }
    }
  }

  /// All messages that wait.
  func takeAll() -> [any Message] {
    change { state in
      defer { state.messages = [] }
      return state.messages
    }
  }

  /// Changes the state and wakes everybody for whom it may have changed something.
  @discardableResult
  private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
    let (value, woken) = state.withLock { state in
      let before = state.messages.count
      let wasOpen = state.end == nil
      let value = body(&state)
      var woken: [UnsafeContinuation<Void, Never>] = []
      guard state.messages.count != before || wasOpen != (state.end == nil) else { return (value, woken) }
      swap(&woken, &state.readers)
      woken += state.writers
      state.writers = []
      return (value, woken)
    }
    for continuation in woken { continuation.resume() }
    return value
  }

  private func wait(
    _ queue: any WritableKeyPath<State, [UnsafeContinuation<Void, Never>]> & Sendable, unless isReady: (State) -> Bool
  ) async {
    await withUnsafeContinuation { continuation in
      let isWaiting = state.withLock { state in
        guard !isReady(state) else { return false }
        state[keyPath: queue].append(continuation)
        return true
      }
      if !isWaiting { continuation.resume() }
    }
  }
}

import RPC

/// A call that is made again beside itself while it is not answered: one copy of a service that stands still, or is slow, must not
/// keep its caller until the deadline while the others are there.
///
/// The first success ends it, and whatever is still under way is given up. It is for calls of which the service does one at most, and
/// answers the others as the first or refuses them.
struct HedgedCall {
  /// The most calls at once.
  static let attempts = 3

  /// How long to wait for an answer before the call is made once more; nil for never.
  let delay: Duration?
  /// Whether the service answers a repetition as it answered the first time: then a refusal is final, whichever call got it. Else a
  /// refusal may mean that an earlier call was let through, whose answer is awaited.
  let isIdempotent: Bool

  private enum Event<Value: Sendable>: Sendable {
    case ended(Result<Value, RPCError>)
    case waited
  }

  /// Makes the call.
  func value<Value: Sendable>(
    _ call: @escaping @Sendable () async throws(RPCError) -> Value
  ) async throws(RPCError) -> Value {
    guard let delay else { return try await call() }
    let result = await withTaskGroup(of: Event<Value>.self) { group in
      defer { group.cancelAll() }
      var underWay = 0
      var begun = 0
      var failure: RPCError?
      func begin() {
        begun += 1
        underWay += 1
        group.addTask { .ended(await Self.outcome(call)) }
        guard begun < Self.attempts else { return }
        group.addTask {
          try? await Task.sleep(for: delay)
          return .waited
        }
      }
      begin()
      while let event = await group.next() {
        switch event {
        case .waited:
          // A caller that has given up wants no other call.
          if !Task.isCancelled { begin() }
        case .ended(.success(let value)): return Result<Value, RPCError>.success(value)
        case .ended(.failure(let error)):
          underWay -= 1
          let isFinal = Self.isAnswer(error)
          if failure.map({ !Self.isAnswer($0) && isFinal }) ?? true { failure = error }
          if underWay == 0 || isIdempotent && isFinal { return .failure(failure ?? error) }
        }
      }
      return .failure(failure ?? RPCError(.cancelled, "the call was cancelled"))
    }
    return try result.get()
  }

  private static func outcome<Value: Sendable>(
    _ call: @Sendable () async throws(RPCError) -> Value
  ) async -> Result<Value, RPCError> {
    do throws(RPCError) { return .success(try await call()) } catch { return .failure(error) }
  }

  /// Whether a service has answered, and not only nobody.
  private static func isAnswer(_ error: RPCError) -> Bool {
    switch error.code {
    case .unavailable, .deadlineExceeded, .cancelled: false
    default: true
    }
  }
}

import Foundation
import RPC
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One HTTP request and its response, from any task.
///
/// The session's delegate puts in what comes; readers wait for the head and for bytes. The first end counts: the response's own,
/// a failure, the deadline, a cancellation.
final class Exchange: Sendable {
  private struct State {
    var task: URLSessionDataTask?
    var head: ResponseHead?
    /// What came and was not taken yet.
    var unread: [UInt8] = []
    var limit = Int.max
    /// How the exchange ended: nil while it has not.
    var end: Result<Void, RPCError>?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let makeTask: @Sendable (URLRequest, Exchange) -> URLSessionDataTask

  /// An exchange that has not begun.
  init(_ makeTask: @escaping @Sendable (URLRequest, Exchange) -> URLSessionDataTask) {
    self.makeTask = makeTask
  }

  /// Sends the request, unless the exchange has ended already.
  ///
  /// - Parameter limit: The most bytes that may lie unread.
  func begin(_ request: URLRequest, limit: Int) {
    let task = makeTask(request, self)
    let isOver = state.withLock { state in
      state.task = task
      state.limit = limit
      return state.end != nil
    }
    if isOver { task.cancel() }
    task.resume()
  }

  /// Ends the exchange from this side; nothing happens if it has ended already.
  func end(_ error: RPCError) {
    let task = change { state -> URLSessionDataTask? in
      guard state.end == nil else { return nil }
      state.end = .failure(error)
      state.unread = []
      return state.task
    }
    task?.cancel()
  }

  /// Why the exchange failed; nil while it goes on and after its regular end.
  var failure: RPCError? {
    state.withLock { if case .failure(let error) = $0.end { error } else { nil } }
  }

  /// The head of the response, if it is there.
  var received: ResponseHead? { state.withLock { $0.head } }

  /// The head of the response, once it is there.
  func head() async throws(RPCError) -> ResponseHead {
    await wait { $0.head != nil || $0.end != nil }
    let (head, end) = state.withLock { ($0.head, $0.end) }
    if case .failure(let error) = end { throw error }
    guard let head else { throw RPCError(.unavailable, "the connection ended before the response") }
    return head
  }

  /// The bytes that came since the last call; nil after the last ones.
  func bytes() async throws(RPCError) -> [UInt8]? {
    await wait { !$0.unread.isEmpty || $0.end != nil }
    let (bytes, end) = state.withLock { state in
      defer { state.unread = [] }
      return (state.unread, state.end)
    }
    if case .failure(let error) = end { throw error }
    return bytes.isEmpty ? nil : bytes
  }

  // MARK: What the session says

  func didReceive(_ head: ResponseHead) {
    change { $0.head = head }
  }

  func didReceive(_ bytes: [UInt8]) {
    let isTooMuch = change { state -> Bool in
      guard state.end == nil else { return false }
      state.unread += bytes
      return state.unread.count > state.limit
    }
    if isTooMuch { end(RPCError(.resourceExhausted, "the response is longer than what may lie unread")) }
  }

  func didComplete(_ error: (any Error)?) {
    change { state in
      state.task = nil
      guard state.end == nil else { return }
      state.end = error.map { .failure(Self.rpcError($0)) } ?? .success(())
    }
  }

  /// What a failed exchange means. The reason in words stays in the process: it may name hosts and ports.
  private static func rpcError(_ error: any Error) -> RPCError {
    switch (error as? URLError)?.code {
    case .cancelled?: RPCError(.cancelled, "the call was cancelled", cause: error)
    case .timedOut?: RPCError(.unavailable, "the server did not answer in time", cause: error)
    default: RPCError(.unavailable, "the server could not be reached", cause: error)
    }
  }

  // MARK: Waiting

  /// Changes the state and wakes whoever waits for it.
  @discardableResult
  private func change<T: Sendable>(_ body: (inout State) -> T) -> T {
    let (result, waiting) = state.withLock { state in
      let result = body(&state)
      defer { state.waiting = [] }
      return (result, state.waiting)
    }
    for continuation in waiting { continuation.resume() }
    return result
  }

  private func wait(until isReady: @Sendable (borrowing State) -> Bool) async {
    while !state.withLock({ isReady($0) }) {
      await withCheckedContinuation { continuation in
        let isLate = state.withLock { state in
          if isReady(state) { return true }
          state.waiting.append(continuation)
          return false
        }
        if isLate { continuation.resume() }
      }
    }
  }
}

extension Exchange {
  /// Runs `body`; the exchange ends with it, with the deadline, or with the task's cancellation.
  func guarded<Result: Sendable, Failure: Error>(
    until deadline: Deadline?, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    defer { end(RPCError(.cancelled, "the call was left before it ended")) }
    let outcome = await withTaskCancellationHandler {
      await withTaskGroup { group -> Swift.Result<Result, Failure> in
        if let deadline {
          group.addTask {
            // A year is long enough, and no clock overflows.
            try? await Task.sleep(for: min(deadline.timeLeft, .seconds(31_536_000)))
            if deadline.hasPassed { self.end(RPCError(.deadlineExceeded, "the deadline passed before the response was there")) }
          }
        }
        defer { group.cancelAll() }
        do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
      }
    } onCancel: {
      end(RPCError(.cancelled, "the call was cancelled"))
    }
    return try outcome.get()
  }
}

import JSON
import Synchronization

/// Requests whose answers wait until somebody lets them go: so a service can be stopped in the middle of a call.
final class HeldRequests: Sendable {
  /// What is to wait.
  struct Hold: Sendable, Equatable {
    /// The path that it holds for.
    let path: String
    /// Whether it waits before the work is done; after it otherwise.
    let isBefore: Bool
    /// How many requests are left that it holds for; nil for all.
    var count: Int?
    /// How many requests it lets pass first.
    var skip = 0
    /// Whether the work is done when it is let go though its caller has gone meanwhile, as a provider does that was asked.
    var outlastsCaller = false

    var json: JSONValue {
      var object: JSONObject = ["path": .string(path), "before": .bool(isBefore)]
      if let count { object["count"] = .number(JSONNumber(count)) }
      if outlastsCaller { object["outlastsCaller"] = true }
      return .object(object)
    }
  }

  /// A request that waits.
  struct Waiting: Sendable, Equatable {
    let path: String
    let requestID: String?
    let isBefore: Bool

    var json: JSONValue {
      [
        "path": .string(path), "requestId": requestID.map { .string($0) } ?? .null, "before": .bool(isBefore),
      ]
    }
  }

  private struct State {
    var holds: [Hold] = []
    var next = 0
    var waiting: [Int: (request: Waiting, continuation: CheckedContinuation<Void, Never>)] = [:]
    /// Whose waiting ended before it began.
    var gone: Set<Int> = []
  }

  private let state = Mutex(State())

  /// What is to wait from now on.
  var holds: [Hold] { state.withLock { $0.holds } }

  /// Who waits, in the order in which they came.
  var waiting: [Waiting] { state.withLock { $0.waiting.sorted { $0.key < $1.key }.map(\.value.request) } }

  /// Lets requests of a path wait from now on.
  func add(_ hold: Hold) { state.withLock { $0.holds.append(hold) } }

  /// Ends all holds and lets everybody go who waits.
  func release() {
    let waiting = state.withLock { state in
      state.holds = []
      defer { state.waiting = [:] }
      return state.waiting.values.map(\.continuation)
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits when a request of that path is to wait at this point, until it is let go or nobody is there any more who would take the answer.
  ///
  /// - Returns: Whether the work is to be done though nobody is there any more.
  @discardableResult
  func wait(_ path: String, isBefore: Bool, requestID: String?) async -> Bool {
    guard let (ticket, outlastsCaller) = take(path, isBefore: isBefore) else { return false }
    let request = Waiting(path: path, requestID: requestID, isBefore: isBefore)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isGone = state.withLock { state in
          guard state.gone.remove(ticket) == nil else { return true }
          state.waiting[ticket] = (request, continuation)
          return false
        }
        if isGone { continuation.resume() }
      }
    } onCancel: {
      if outlastsCaller { return }
      let continuation = state.withLock { state in
        let found = state.waiting.removeValue(forKey: ticket)?.continuation
        if found == nil { state.gone.insert(ticket) }
        return found
      }
      continuation?.resume()
    }
    return outlastsCaller
  }

  private func take(_ path: String, isBefore: Bool) -> (ticket: Int, outlastsCaller: Bool)? {
    state.withLock { state in
      guard let index = state.holds.firstIndex(where: { $0.path == path && $0.isBefore == isBefore }) else { return nil }
      guard state.holds[index].skip == 0 else {
        state.holds[index].skip -= 1
        return nil
      }
      let outlastsCaller = state.holds[index].outlastsCaller
      if let count = state.holds[index].count {
        state.holds[index].count = count - 1
        if count <= 1 { state.holds.remove(at: index) }
      }
      state.next += 1
      return (state.next, outlastsCaller)
    }
  }
}

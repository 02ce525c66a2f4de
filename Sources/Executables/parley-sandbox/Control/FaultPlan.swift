import EventLoop
import JSON
import RPCServer
import Synchronization

/// What the sandbox was told to do wrong, in the order in which it was told.
final class FaultPlan: Sendable {
  /// One thing to do wrong.
  struct Fault: Sendable, Equatable {
    /// The path that it holds for.
    var path: String
    /// The status to answer with instead of the real answer.
    var status: Int?
    /// How long to wait before answering.
    var delayMilliseconds = 0
    /// Whether to reset the stream instead of answering.
    var drops = false
    /// How many requests are left that it holds for; nil for all.
    var count: Int?

    /// The fault as it is told and shown.
    var json: JSONValue {
      var object: JSONObject = ["path": .string(path), "delayMs": .number(JSONNumber(delayMilliseconds)), "drop": .bool(drops)]
      if let status { object["status"] = .number(JSONNumber(status)) }
      if let count { object["count"] = .number(JSONNumber(count)) }
      return .object(object)
    }
  }

  private let faults = Mutex<[Fault]>([])

  /// What is still to be done wrong.
  var pending: [Fault] { faults.withLock { $0 } }

  /// Plans one more.
  func add(_ fault: Fault) { faults.withLock { $0.append(fault) } }

  /// Forgets the faults of a path, or all of them.
  func remove(path: String? = nil) { faults.withLock { $0.removeAll { path == nil || $0.path == path } } }

  /// Answers a request for `path`: the first fault planned for it decides how.
  func apply(
    to path: String, _ answer: () async throws -> HTTPServerResponse
  ) async throws -> HTTPServerResponse {
    guard let fault = take(path) else { return try await answer() }
    if fault.delayMilliseconds > 0, let loop = EventLoop.current {
      try await loop.sleep(for: .milliseconds(fault.delayMilliseconds))
    }
    if fault.drops { return .dropped }
    guard let status = fault.status else { return try await answer() }
    let body: JSONValue = ["error": "sandbox_fault", "error_description": "The sandbox was told to fail."]
    return .json(status, body.encoded())
  }

  private func take(_ path: String) -> Fault? {
    faults.withLock { faults in
      guard let index = faults.firstIndex(where: { $0.path == path }) else { return nil }
      let fault = faults[index]
      if let count = fault.count {
        faults[index].count = count - 1
        if count <= 1 { faults.remove(at: index) }
      }
      return fault
    }
  }
}

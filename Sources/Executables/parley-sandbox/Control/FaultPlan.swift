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
    /// The method that it holds for; nil for all.
    var method: String?
    /// The status to answer with instead of the real answer.
    var status: Int?
    /// How long to wait before answering.
    var delayMilliseconds = 0
    /// Whether to reset the stream instead of answering.
    var drops = false
    /// The name that the answer gives the error, in the provider's own form; nil for the usual one.
    var code: String?
    /// The `Retry-After` of the answer.
    var retryAfter: String?
    /// Whether the work is done before: the answer to it is lost.
    var isAfter = false
    /// How many requests are left that it holds for; nil for all.
    var count: Int?

    /// The fault as it is told and shown.
    var json: JSONValue {
      var object: JSONObject = ["path": .string(path), "delayMs": .number(JSONNumber(delayMilliseconds)), "drop": .bool(drops)]
      if let method { object["method"] = .string(method) }
      if let status { object["status"] = .number(JSONNumber(status)) }
      if let code { object["code"] = .string(code) }
      if let retryAfter { object["retryAfter"] = .string(retryAfter) }
      if isAfter { object["after"] = true }
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

  /// Answers a request for `route`: the first fault planned for it and the method decides how.
  func apply(
    to route: StandInRoute, _ method: String, _ answer: () async throws -> HTTPServerResponse
  ) async throws -> HTTPServerResponse {
    guard let fault = take(route.path, method) else { return try await answer() }
    let done = fault.isAfter ? try await answer() : nil
    if fault.delayMilliseconds > 0, let loop = EventLoop.current {
      try await loop.sleep(for: .milliseconds(fault.delayMilliseconds))
    }
    if fault.drops { return .dropped }
    guard let status = fault.status else {
      if let done { return done }
      return try await answer()
    }
    var response = route.refusal?(status, fault.code) ?? Self.refusal(status, fault.code)
    if let retryAfter = fault.retryAfter { response.headers.append(("retry-after", retryAfter)) }
    return response
  }

  private static func refusal(_ status: Int, _ code: String?) -> HTTPServerResponse {
    .json(["error": .string(code ?? "sandbox_fault"), "error_description": "The sandbox was told to fail."], status: status)
  }

  private func take(_ path: String, _ method: String) -> Fault? {
    faults.withLock { faults in
      guard let index = faults.firstIndex(where: { $0.path == path && ($0.method ?? method) == method }) else { return nil }
      let fault = faults[index]
      if let count = fault.count {
        faults[index].count = count - 1
        if count <= 1 { faults.remove(at: index) }
      }
      return fault
    }
  }
}

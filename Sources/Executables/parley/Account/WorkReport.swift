import JSON
import ParleyAPI

/// Exports and deletions, for people and for programs.
enum WorkReport {
  static let heading = ["STEP", "DONE", "ATTEMPTS", "KIND", "DELETED", "KEPT", "WHY"]

  /// A row for each kind of each part.
  static func rows(_ work: AccountWork) -> [[String]] {
    work.steps.flatMap { step -> [[String]] in
      let head = [
        step.name, step.doneAt.map(SessionReport.text) ?? (step.failure.isEmpty ? "" : step.failure), "\(step.attempts)",
      ]
      guard let first = step.counts.first else { return [(head + ["", "", "", ""]).map(Printable.text)] }
      return ([head + cells(first)] + step.counts.dropFirst().map { ["", "", ""] + cells($0) }).map { $0.map(Printable.text) }
    }
  }

  private static func cells(_ count: AccountWorkCount) -> [String] {
    [count.kind, "\(count.deleted)", "\(count.held)", count.whyHeld]
  }

  static func state(_ work: AccountWork) -> String {
    switch work.state {
    case .running: "running"
    case .done: "done"
    case .failed: "failed: \(Printable.text(work.failure))"
    case .unspecified, .unrecognized: "unknown"
    }
  }

  static func json(_ work: AccountWork) -> JSONValue {
    var object: JSONObject = [
      "id": .string(work.id), "kind": .string(work.kind == .export ? "export" : "deletion"),
      "state": .string(work.state == .failed ? "failed" : state(work)), "total_bytes": .number(JSONNumber(work.totalBytes)),
    ]
    object["created_at"] = work.createdAt.map { .string(SessionReport.text($0)) }
    object["done_at"] = work.doneAt.map { .string(SessionReport.text($0)) }
    object["expires_at"] = work.expiresAt.map { .string(SessionReport.text($0)) }
    if !work.failure.isEmpty { object["failure"] = .string(work.failure) }
    object["steps"] = .array(work.steps.map(json))
    return .object(object)
  }

  private static func json(_ step: AccountWorkStep) -> JSONValue {
    var object: JSONObject = [
      "name": .string(step.name), "is_done": .bool(step.isDone), "attempts": .number(JSONNumber(Int(step.attempts))),
    ]
    object["done_at"] = step.doneAt.map { .string(SessionReport.text($0)) }
    if !step.failure.isEmpty { object["failure"] = .string(step.failure) }
    object["counts"] = .array(
      step.counts.map { count in
        [
          "kind": .string(count.kind), "deleted": .number(JSONNumber(count.deleted)), "held": .number(JSONNumber(count.held)),
          "why_held": .string(count.whyHeld),
        ]
      })
    return .object(object)
  }
}

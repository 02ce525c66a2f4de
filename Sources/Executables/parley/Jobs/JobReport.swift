import ArgumentParser
import JSON
import ParleyAPI

/// What a job is doing, as the command line takes it.
enum JobStateArgument: String, ExpressibleByArgument, CaseIterable {
  case ready, scheduled, running, dead, held

  var state: JobState {
    switch self {
    case .ready: .ready
    case .scheduled: .scheduled
    case .running: .running
    case .dead: .dead
    case .held: .held
    }
  }
}

/// Jobs and queues, for people and for programs.
enum JobReport {
  static let heading = ["ID", "KIND", "QUEUE", "STATE", "ATTEMPT", "AT", "PROGRESS", "ERROR"]
  static let queueHeading = ["QUEUE", "", "READY", "SCHEDULED", "RUNNING", "DEAD", "HELD", "OLDEST READY"]

  static func row(_ job: Job) -> [String] {
    [
      job.id, job.kind, job.queue, name(of: job.state), "\(job.attempt)/\(job.maxAttempts)", job.at.map(SessionReport.text) ?? "",
      progress(job), String(job.lastError.prefix(60)),
    ].map(Printable.text)
  }

  static func table(_ job: Job, steps: [JobStep]) -> [(String, String)] {
    var rows = [
      ("id", job.id), ("kind", "\(job.kind) (version \(job.version))"), ("queue", job.queue), ("state", name(of: job.state)),
      ("priority", "\(job.priority)"), ("attempt", "\(job.attempt) of \(job.maxAttempts)"),
      ("enqueued", job.enqueuedAt.map(SessionReport.text) ?? ""), (moment(job.state), job.at.map(SessionReport.text) ?? ""),
      ("payload", "\(job.payloadLength) bytes"),
    ]
    for (name, value) in [
      ("unique key", job.uniqueKey), ("user", job.userID), ("holder", job.holder), ("progress", progress(job)),
      ("reason", reason(job)), ("last error", job.lastError),
    ] where !value.isEmpty { rows.append((name, value)) }
    rows += steps.map { ("step", "\($0.name), \($0.finishedAt.map(SessionReport.text) ?? "")") }
    return rows.map { ($0.0, Printable.text($0.1)) }
  }

  static func json(_ job: Job, steps: [JobStep]? = nil) -> JSONValue {
    var object: JSONObject = ["id": .string(job.id)]
    for (name, value) in [
      ("kind", job.kind), ("queue", job.queue), ("state", name(of: job.state)), ("unique_key", job.uniqueKey),
      ("user_id", job.userID), ("holder", job.holder), ("reason", job.reason), ("last_error", job.lastError),
      ("progress_note", job.progressNote), ("enqueued_at", job.enqueuedAt.map(SessionReport.text) ?? ""),
      ("at", job.at.map(SessionReport.text) ?? ""),
    ] where !value.isEmpty { object[name] = .string(value) }
    for (name, value) in [
      ("version", Int(job.version)), ("priority", Int(job.priority)), ("attempt", Int(job.attempt)),
      ("max_attempts", Int(job.maxAttempts)), ("finished_steps", Int(job.steps)), ("progress_done", Int(job.progressDone)),
      ("progress_total", Int(job.progressTotal)), ("payload_length", Int(job.payloadLength)),
    ] { object[name] = .number(JSONNumber(value)) }
    if let steps {
      object["steps"] = .array(
        steps.map { ["name": .string($0.name), "finished_at": .string($0.finishedAt.map(SessionReport.text) ?? "")] })
    }
    return .object(object)
  }

  static func row(_ queue: JobQueue) -> [String] {
    [
      queue.name, queue.paused ? "paused" : "", "\(queue.ready)", "\(queue.scheduled)", "\(queue.running)", "\(queue.dead)",
      "\(queue.held)", queue.oldestReadyAt.map(SessionReport.text) ?? "",
    ].map(Printable.text)
  }

  static func json(_ queue: JobQueue) -> JSONValue {
    var object: JSONObject = ["name": .string(queue.name), "paused": .bool(queue.paused)]
    for (name, value) in [
      ("ready", queue.ready), ("scheduled", queue.scheduled), ("running", queue.running), ("dead", queue.dead),
      ("held", queue.held),
    ] { object[name] = .number(JSONNumber(Int(value))) }
    object["oldest_ready_at"] = queue.oldestReadyAt.map { .string(SessionReport.text($0)) }
    return .object(object)
  }

  private static func name(of state: JobState) -> String {
    switch state {
    case .ready: "ready"
    case .scheduled: "scheduled"
    case .running: "running"
    case .dead: "dead"
    case .held: "held"
    case .unspecified, .unrecognized: "unknown"
    }
  }

  /// Why it does not run.
  private static func reason(_ job: Job) -> String {
    job.state == .held ? "no worker has ever handled this kind; it waits for one that does" : job.reason
  }

  private static func moment(_ state: JobState) -> String {
    switch state {
    case .running: "lease until"
    case .dead: "died"
    default: "due"
    }
  }

  private static func progress(_ job: Job) -> String {
    guard job.progressTotal > 0 else { return job.progressNote }
    return "\(job.progressDone)/\(job.progressTotal)" + (job.progressNote.isEmpty ? "" : " \(job.progressNote)")
  }
}

internal import JOSE
internal import JSON
internal import Jobs
internal import OnboardingStore
internal import ParleyAPI
internal import Values

/// What belongs to services that are not there yet: durable jobs, held until somebody takes them. Their payloads are JSON.
enum HeldJobs {
  private static func job(_ kind: String, _ body: JSONObject, _ user: UUID, key: String) throws -> NewJob {
    try JobKind<[UInt8]>(kind).job(JSONValue.object(body).encoded(), uniqueKey: key, user: user)
  }

  /// Where a person's device can be rung: for calls. Each token that a submission names has a job, since it is kept nowhere else; the one
  /// that was enqueued last says which holds. The same token with the same submission again has none of its own.
  ///
  /// - Returns: The job; nil where the request names no token.
  static func registerDevice(_ request: CompleteRequest, of user: UUID, submission: UUID) throws -> NewJob? {
    let tokens = [(request.voipToken, "voip"), (request.pushToken, "")]
    guard let (token, type) = tokens.lazy.compactMap({ token, type in token.map { ($0, type) } }).first(where: { !$0.0.isEmpty })
    else { return nil }
    let device = request.deviceMetadata
    let facts: [(String, String?)] = [
      ("type", device.flatMap { $0.type.isEmpty ? nil : $0.type } ?? type), ("device_model", device?.deviceModel),
      ("os_version", device?.osVersion), ("app_version", device?.appVersion), ("locale", device?.locale),
      ("timezone", device?.timezone),
    ]
    var body: JSONObject = ["user_id": .string(user.description), "token": .string(token)]
    for (name, fact) in facts {
      if let fact, !fact.isEmpty { body[name] = .string(fact) }
    }
    let digest = Hexadecimal.text(SHA256.digest(Array(token.utf8)))
    return try job("calls.register-device", body, user, key: "\(user)/\(submission)/\(digest)")
  }

  /// A person's standing begins, or what is known of the person has changed: for accountability, and whoever calls by the window. Each
  /// submission has a job; the one that was enqueued last says what holds.
  static func beginStanding(_ submission: KeptSubmission) throws -> NewJob {
    var body: JSONObject = [
      "user_id": .string(submission.user.description), "submission_id": .string(submission.id.description),
      "name": .string(submission.name), "zone": .string(submission.zone),
      "completed_at": .string(submission.createdAt.description),
    ]
    if let start = submission.callStart, let minutes = submission.callMinutes {
      body["call_start"] = .number(JSONNumber(start))
      body["call_minutes"] = .number(JSONNumber(minutes))
    }
    return try job("accountability.begin", body, submission.user, key: "\(submission.user)/\(submission.id)")
  }

  /// The first call, by which a person sees how it goes: for calls. ``DemoOffer`` decides whether it is made.
  static func demoCall(of user: UUID) throws -> NewJob {
    try job("calls.demo", ["user_id": .string(user.description)], user, key: user.description)
  }
}

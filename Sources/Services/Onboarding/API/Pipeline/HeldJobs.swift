internal import JSON
internal import Jobs
internal import ParleyAPI
internal import PostgreSQL

/// What belongs to services that are not there yet: durable jobs, held until somebody takes them.
enum HeldJobs {
  private static func job(_ kind: String, _ body: JSONObject, _ user: UUID, key: String? = nil) throws -> NewJob {
    try JobKind<[UInt8]>(kind).job(
      JSONValue.object(body).encoded(), uniqueKey: key ?? user.description, user: user)
  }

  /// Where a person's device can be rung: for calls. Each submission that names a token has a job, since the token is kept nowhere else;
  /// the one that was enqueued last says which holds.
  static func registerDevice(
    _ token: String, _ device: DeviceMetadata?, of user: UUID, submission: UUID
  ) throws -> NewJob {
    var body: JSONObject = ["user_id": .string(user.description), "token": .string(token)]
    if let device, !device.type.isEmpty { body["type"] = .string(device.type) }
    return try job("calls.register-device", body, user, key: "\(user)/\(submission)")
  }

  /// A person's standing begins: for accountability.
  static func beginStanding(of user: UUID, submission: UUID) throws -> NewJob {
    try job(
      "accountability.begin", ["user_id": .string(user.description), "submission_id": .string(submission.description)], user)
  }

  /// The first call, by which a person sees how it goes: for calls.
  static func demoCall(of user: UUID) throws -> NewJob {
    try job("calls.demo", ["user_id": .string(user.description)], user)
  }
}

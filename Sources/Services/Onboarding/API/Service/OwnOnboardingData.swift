internal import Blobs
internal import Idempotency
internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import ServiceKit

/// What this service keeps of people, as every service hands it out, deletes and counts it.
struct OwnOnboardingData: AccountDataHolding {
  let database: Database
  let store: OnboardingDataStore
  let recordings: RecordingStore
  let voices: VoiceStore
  let kept: IdempotencyStore
  let blobs: any BlobStore
  let jobs: JobQueue
  let pipeline: SubmissionPipeline
  let now: @Sendable () -> Timestamp

  func export(of user: UUID, _ send: @escaping @Sendable (AccountDocumentPart) async throws -> Void) async throws {
    try await store.read(user) { kind, rows in
      try await send(AccountDocumentPart("\(kind).jsonl", data: Array(rows.map { $0 + "\n" }.joined().utf8)))
    }
    for recording in try await recordings.all(of: user) {
      let sample = try await pipeline.sample(recording, of: user)
      let name = AnswerContent.reference(recording.digest).dropFirst(10).prefix(32)
      try await send(
        AccountDocumentPart("recording-\(name).\(recording.format)", contentType: recording.mediaType, data: sample.bytes))
    }
  }

  /// First the jobs, so that nobody adds to it; then the voice at the provider, the rows, and the recordings, which are found by their
  /// owner alone: a deletion that was cut short knows what is left.
  func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount] {
    try await database.transaction { transaction in
      _ = try await jobs.forget(user, in: transaction)
      try await voices.disown(of: user, at: now(), in: transaction)
    }
    for voice in try await voices.unwanted(of: user) {
      try await pipeline.providers.cloner.delete(voice)
      try await voices.deleted(voice, of: user, at: now())
    }
    let counts = try await database.transaction { transaction in try await store.delete(user, in: transaction) }
    _ = try await kept.removeAll(of: user)
    _ = try await blobs.deleteAll(of: user)
    return counts.map { AccountDataCount($0.kind, deleted: $0.count) }
  }

  func report(of user: UUID) async throws -> [AccountDataCount] {
    try await store.count(user).map { AccountDataCount($0.kind, held: $0.count) }
  }
}

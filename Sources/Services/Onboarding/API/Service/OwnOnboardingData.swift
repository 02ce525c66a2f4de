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

  /// First the jobs, so that nobody adds to it, while a job that is nobody's looks for a voice that was just being made; then the voice at the provider, the rows, and the recordings, which are found by their
  /// owner alone: a deletion that was cut short knows what is left.
  func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount] {
    try await database.transaction { transaction in
      _ = try await jobs.forget(user, in: transaction)
      try await voices.disown(of: user, at: now(), in: transaction)
      if try await voices.disownExpected(of: user, at: now(), in: transaction) {
        try await jobs.enqueue([try OnboardingJobs.findVoices(of: user)], in: transaction)
      }
    }
    for voice in try await voices.unwanted(of: user) {
      try await pipeline.providers.cloner.delete(voice)
      try await voices.deleted(voice, of: user, at: now())
    }
    let counts = try await database.transaction { transaction in try await store.delete(user, in: transaction) }
    _ = try await kept.removeAll(of: user)
    _ = try await blobs.deleteAll(of: user)
    let held = try await report(of: user).filter { $0.kind == OnboardingDataStore.expectedVoices }
    return counts.map { AccountDataCount($0.kind, deleted: $0.count) } + held
  }

  func report(of user: UUID) async throws -> [AccountDataCount] {
    let isLookedFor = try await !voices.unwantedExpected(of: user).isEmpty
    return try await store.count(user).map { kind, count in
      AccountDataCount(kind, held: count, whyHeld: kind == OnboardingDataStore.expectedVoices && isLookedFor ? Self.why : "")
    }
  }

  private static let why = """
    A voice was being made when it was not wanted any more. It is looked for at the provider, and deleted there, until none can \
    come of it: for 15 minutes, or longer while the provider does not answer. Then this note goes too.
    """
}

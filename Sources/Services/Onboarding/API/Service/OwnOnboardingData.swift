internal import Blobs
internal import Idempotency
internal import JSON
internal import Jobs
internal import Limits
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import ServiceKit
internal import Values

/// What this service keeps of people, as every service hands it out, deletes and counts it.
struct OwnOnboardingData: AccountDataHolding {
  let database: Database
  let store: OnboardingDataStore
  let recordings: RecordingStore
  let voices: VoiceStore
  let submissions: SubmissionStore
  let kept: IdempotencyStore
  let limits: RateLimitSweep
  let blobs: any BlobStore
  let jobs: JobQueue
  let pipeline: SubmissionPipeline
  let now: @Sendable () -> Instant

  func export(of user: UUID, _ send: @escaping @Sendable (AccountDocumentPart) async throws -> Void) async throws {
    try await store.read(user) { kind, rows in
      try await send(AccountDocumentPart("\(kind).jsonl", data: Array(rows.map { $0 + "\n" }.joined().utf8)))
    }
    var missing = ""
    for recording in try await recordings.all(of: user) {
      do {
        let sample = try await pipeline.sample(recording, of: user)
        try await send(
          AccountDocumentPart(
            "recording-\(recording.name.prefix(32)).\(recording.format)", contentType: recording.mediaType, data: sample.bytes))
      } catch let failure as ProviderFailure where !failure.isTemporary {
        // What is lost for good keeps nobody from what is there.
        pipeline.journal.failed("export", failure, of: user)
        let line: JSONObject = ["sha256": .string(recording.name), "reason": .string(failure.reason)]
        missing += String(decoding: JSONValue.object(line).encoded(), as: UTF8.self) + "\n"
      }
    }
    if !missing.isEmpty { try await send(AccountDocumentPart("missing.jsonl", data: Array(missing.utf8))) }
  }

  /// First the jobs, and a note that nothing is taken any more, so that nobody adds to it; jobs that are nobody's look for a voice that was
  /// just being made, and delete once more what was on its way. Then the rows, and the recordings, which are found by their owner alone: a
  /// deletion that was cut short knows what is left. The voice at the provider is last: while that does not answer nothing else waits, and
  /// a job that is nobody's goes on with it.
  func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount] {
    try await database.transaction { transaction in
      // Whoever writes for the person this moment comes before, or learns that the account is deleted.
      try await submissions.lock(user, in: transaction)
      let until = now().advanced(by: DepartureWindow.whole)
      try await submissions.depart(user, until: until, at: now(), in: transaction)
      _ = try await jobs.forget(user, in: transaction)
      try await voices.lock(user, in: transaction)
      try await voices.disown(of: user, at: now(), in: transaction)
      var follow = [try OnboardingJobs.deleteRest(of: user, notBefore: until)]
      if try await voices.disownExpected(of: user, at: now(), in: transaction) {
        follow.append(try OnboardingJobs.findVoices(of: user))
      }
      try await jobs.enqueue(follow, in: transaction)
    }
    try await store.deletePieces(user)
    let counts = try await database.transaction { transaction in try await store.delete(user, in: transaction) }
    _ = try await kept.removeAll(of: user)
    _ = try await limits.removeAll(of: user)
    _ = try await blobs.deleteAll(of: user)
    try await deleteVoices(of: user)
    let held = try await report(of: user).filter { OnboardingDataStore.staying.contains($0.kind) }
    return counts.map { AccountDataCount($0.kind, deleted: $0.count) } + held
  }

  private func deleteVoices(of user: UUID) async throws {
    for voice in try await voices.unwanted(of: user) {
      do throws(ProviderFailure) { try await pipeline.providers.cloner.delete(voice) } catch {
        try Task.checkCancellation()
        pipeline.journal.failed("delete voice", error, of: user)
        _ = try await jobs.enqueue([try OnboardingJobs.deleteVoices(of: user)])
        return
      }
      try await voices.deleted(voice, of: user, at: now())
    }
  }

  /// Who deletes what was on its way when an account was deleted.
  var handlers: JobHandlers {
    var handlers = JobHandlers()
    handlers.handle(OnboardingJobs.deleteRest) { user, run in try await deleteRest(of: user, run) }
    return handlers
  }

  private func deleteRest(of user: UUID, _ run: JobRun) async throws {
    guard let until = try await submissions.departure(of: user) else { return }
    let isOver = now() >= until
    if isOver {
      try await store.deletePieces(user)
      _ = try await kept.removeAll(of: user)
      _ = try await limits.removeAll(of: user)
      do throws(BlobError) { _ = try await blobs.deleteAll(of: user) } catch {
        try Task.checkCancellation()
        let failure = ProviderFailure(error)
        pipeline.journal.failed("delete rest", failure, of: user)
        throw JobFailure.retry(after: error.retryAfter, failure.reason)
      }
    }
    try await database.transaction { transaction in
      try await submissions.lock(user, in: transaction)
      try await run.fence(in: transaction)
      // A deletion that was repeated meanwhile has moved the end.
      let end = try await submissions.departure(of: user, on: transaction) ?? until
      if isOver, end == until {
        _ = try await store.delete(user, in: transaction)
        try await submissions.forgetDeparture(of: user, in: transaction)
      }
      try await run.finish(in: transaction)
      if end > until || !isOver {
        try await jobs.enqueue([try OnboardingJobs.deleteRest(of: user, notBefore: end)], in: transaction)
      }
    }
  }

  func report(of user: UUID) async throws -> [AccountDataCount] {
    let isLookedFor = try await !voices.unwantedExpected(of: user).isEmpty
    return try await store.count(user).map { kind, count in
      let why =
        switch kind {
        case OnboardingDataStore.expectedVoices: isLookedFor ? Self.whyVoices : ""
        case OnboardingDataStore.unwantedVoices: Self.whyUnwanted
        case OnboardingDataStore.departures: Self.whyDepartures
        default: ""
        }
      return AccountDataCount(kind, held: count, whyHeld: why)
    }
  }

  private static let whyVoices = """
    A voice was being made when it was not wanted any more. It is looked for at the provider, and deleted there, until none can \
    come of it: for 15 minutes, or longer while the provider does not answer. Then this note goes too.
    """

  private static let whyUnwanted = """
    A voice that is not wanted any more is still at the provider, which does not answer. It is deleted there as soon as it does; then this \
    note goes too.
    """

  private static let whyDepartures = """
    That the account is deleted is noted until nothing of it can be on its way any more: for half an hour, or longer while the object \
    store does not answer. Then what came late is deleted, and this note goes too.
    """
}

internal import Blobs
internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

extension SubmissionPipeline {
  /// Moves what a person has said to the object store, however long that is away: what no submission has brought yet, and what is left
  /// behind its last round.
  func storeRecordings(of user: UUID, _ run: JobRun) async throws {
    // The work on a submission does that by itself, and has somebody who waits for it.
    if let newest = try await submissions.newest(of: user), newest.doneAt == nil { return }
    try await take(user, run)
    while try await !finishStoring(of: user, run) { try await moveRecordings(of: user, run) }
  }

  /// Ends the job where nothing is left. Whoever answers with a recording has the person's lock: it is seen here, or gets another job.
  private func finishStoring(of user: UUID, _ run: JobRun) async throws -> Bool {
    try await database.transaction { transaction in
      try await submissions.lock(user, in: transaction)
      try await run.fence(in: transaction)
      guard try await recordings.storing(of: user, on: transaction).isEmpty else { return false }
      try await run.finish(in: transaction)
      return true
    }
  }

  private func moveRecordings(of user: UUID, _ run: JobRun) async throws {
    for recording in try await recordings.recordings(of: user) where recording.storedAt == nil {
      do throws(BlobError) { try await store(recording, of: user) } catch {
        try Task.checkCancellation()
        journal.failed("store", ProviderFailure(error), of: user)
        throw JobFailure.retry(after: error.retryAfter, "audio_not_stored")
      }
      try await database.transaction { transaction in
        try await run.fence(in: transaction)
        try await recordings.stored(recording.digest, of: user, at: now(), in: transaction)
        guard let newest = try await submissions.newest(of: user, on: transaction) else { return }
        try await submissions.settle("audio_not_stored", step: recording.step ?? 0, in: newest.id, of: user, transaction)
      }
    }
  }
}

extension RecordingStore {
  /// The jobs that move what rounds have left to the object store: one, or none where nothing is left.
  func storing(of user: UUID, on place: any QueryRunning) async throws -> [NewJob] {
    let progress = try await progress(of: user, on: place)
    return progress.stored < progress.total ? [try OnboardingJobs.storeRecordings(of: user)] : []
  }
}

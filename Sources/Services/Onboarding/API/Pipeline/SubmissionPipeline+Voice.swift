internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL

extension SubmissionPipeline {
  /// A voice is made of the recordings, for those who agreed and have none.
  func makeVoice(_ course: inout SubmissionCourse) async throws {
    if course.round == 0 {
      guard !course.stage.isLast else { return }
      try await enter(.cloning, done: 0, of: 1, &course)
    }
    guard let voice = try await voices.voice(of: course.user), voice.consentedAt != nil, voice.voice == nil else { return }
    do {
      let samples = try await samples(of: course.user)
      guard !samples.isEmpty else { throw ProviderFailure(Self.tooLittleAudio, isTemporary: false) }
      let key = "\(course.id)/voice"
      let made = try await providers.cloner.clone("parley \(course.user)", of: samples, key: key)
      try await keepVoice(made, of: course.user, course.run) { transaction in
        try await submissions.settle("voice_clone_failed", step: 0, in: course.id, of: course.user, transaction)
      }
    } catch let failure as ProviderFailure {
      journal.failed("clone", failure, course)
      guard try isFinal(failure, &course) else { return try comeBack(course) }
      try await commit(course) { [course] transaction in
        try await voices.begin(of: course.user, recloning: false, at: now(), in: transaction)
        try await voices.failed(failure.reason, of: course.user, at: now(), in: transaction)
        try await submissions.warn(
          .init("voice_clone_failed", "no voice could be made (\(failure.reason))"), in: course.id, of: course.user, transaction)
      }
    }
  }

  /// Makes a voice for somebody who asked for it.
  func clone(of user: UUID, _ run: JobRun) async throws {
    guard let voice = try await voices.voice(of: user), voice.consentedAt != nil, voice.state == .cloning else { return }
    do {
      let samples = try await samples(of: user)
      guard !samples.isEmpty else { throw ProviderFailure(Self.tooLittleAudio, isTemporary: false) }
      let made = try await providers.cloner.clone("parley \(user)", of: samples, key: run.id.description)
      try await keepVoice(made, of: user, run) { _ in }
    } catch let failure as ProviderFailure {
      try Task.checkCancellation()
      journal.failed("clone", failure)
      if failure.isTemporary, run.attempt < run.maximumAttempts {
        throw JobFailure.retry(after: failure.retryAfter, failure.reason)
      }
      try await database.transaction { transaction in
        try await run.fence(in: transaction)
        try await voices.failed(failure.reason, of: user, at: now(), in: transaction)
        try await run.finish(in: transaction)
      }
    }
  }

  /// Deletes what nobody wants any more at the provider.
  func deleteVoices(of user: UUID, _ run: JobRun) async throws {
    for voice in try await voices.unwanted(of: user) {
      do throws(ProviderFailure) { try await providers.cloner.delete(voice) } catch {
        try Task.checkCancellation()
        journal.failed("delete voice", error)
        // Whatever the provider says: what somebody does not want is not kept.
        throw JobFailure.retry(after: error.retryAfter, error.reason)
      }
      try await voices.deleted(voice, of: user, at: now())
    }
  }

  private func keepVoice(
    _ made: String, of user: UUID, _ run: JobRun, _ more: (Transaction) async throws -> Void
  ) async throws {
    // Where this fails the voice is there, and is found again by its key.
    try await database.transaction { transaction in
      try await run.fence(in: transaction)
      if try await voices.made(made, of: user, at: now(), in: transaction) {
        try await jobs.enqueue(
          try OnboardingJobs.deleteVoices.job(user, uniqueKey: user.description, user: user), in: transaction)
      }
      try await more(transaction)
    }
    journal.cloned()
  }

  /// The longest recordings in which somebody speaks.
  private func samples(of user: UUID) async throws -> [SpokenSample] {
    let spoken = try await recordings.recordings(of: user).filter { $0.state == .done }
    let chosen = SampleChoice.samples(
      of: spoken.compactMap { recording in
        recording.duration.map { .init(digest: recording.digest, size: recording.size, duration: $0) }
      })
    var samples: [SpokenSample] = []
    for choice in chosen {
      guard let recording = spoken.first(where: { $0.digest == choice.digest }) else { continue }
      samples.append(try await sample(recording, of: user))
    }
    return samples
  }
}

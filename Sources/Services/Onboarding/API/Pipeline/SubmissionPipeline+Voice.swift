internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

extension SubmissionPipeline {
  /// A voice is made of the recordings, for those who agreed and have none.
  func makeVoice(_ course: inout SubmissionCourse) async throws {
    if course.round == 0 {
      guard !course.stage.isLast else { return }
      try await enter(.cloning, done: 0, of: 1, &course)
    }
    guard let voice = try await voices.voice(of: course.user), voice.consentedAt != nil, voice.voice == nil else { return }
    if voice.state == .cloning || voice.isAnew {
      // Somebody has asked for one meanwhile, or another one counts: the job for that makes it, whatever became of an earlier one.
      return try await commit(course) { [course] transaction in try await leave(of: course, in: transaction) }
    }
    do {
      try await makeVoice(under: "\(course.id)/voice", for: course.user, course.run) { [course] transaction in
        try await submissions.settle("voice_clone_failed", step: 0, in: course.id, of: course.user, transaction)
      }
    } catch let failure as ProviderFailure {
      journal.failed("clone", failure, course)
      guard try isFinal(failure, &course) else { return try comeBack(course) }
      try await commit(course) { [course] transaction in
        try await voices.lock(course.user, in: transaction)
        // Who took the consent back meanwhile misses nothing.
        guard let voice = try await voices.voice(of: course.user, on: transaction), voice.consentedAt != nil else { return }
        if voice.state != .cloning {
          try await voices.begin(of: course.user, recloning: false, at: now(), in: transaction)
          try await voices.failed(failure.reason, of: course.user, at: now(), in: transaction)
        }
        try await warn(
          .init("voice_clone_failed", "no voice could be made (\(failure.reason))"), after: failure, course, transaction)
      }
    }
  }

  /// Leaves a voice to the job that makes one for those who ask for it, unless it would be one more than a month allows: taking the
  /// consent back and giving it again is no way to more.
  private func leave(of course: SubmissionCourse, in transaction: Transaction) async throws {
    // A consent that is taken back comes before, or after: it is never written over.
    try await voices.lock(course.user, in: transaction)
    guard let voice = try await voices.voice(of: course.user, on: transaction), voice.consentedAt != nil, voice.voice == nil
    else {
      return
    }
    if voice.isAnew {
      guard CloneAllowance.isOpen(last: voice.reclonedAt?.description, now: now().description) else {
        try await voices.declined(Self.limitReached, of: course.user, at: now(), in: transaction)
        return try await submissions.warn(
          .init("voice_clone_failed", "no voice was made (\(Self.limitReached))"), in: course.id, of: course.user, transaction)
      }
      try await voices.begin(of: course.user, recloning: true, at: now(), in: transaction)
    }
    try await jobs.enqueue(try OnboardingJobs.clone(of: course.user), in: transaction)
  }

  /// Makes a voice for somebody who asked for it.
  func clone(of user: UUID, _ run: JobRun) async throws {
    try await take(user, run)
    guard let voice = try await voices.voice(of: user), voice.consentedAt != nil, voice.state == .cloning else { return }
    do {
      guard voice.renewals <= RetryPlan.renewals else { throw ProviderFailure(Self.jobsLost, isTemporary: false) }
      try await makeVoice(under: run.id.description, for: user, run) { transaction in
        // Who sees the voice finds nobody at work.
        try await run.finish(in: transaction)
      }
    } catch let failure as ProviderFailure {
      try Task.checkCancellation()
      journal.failed("clone", failure, of: user)
      if failure.isTemporary, run.attempt < run.maximumAttempts {
        throw JobFailure.retry(after: failure.retryAfter, failure.reason)
      }
      try await database.transaction { transaction in
        try await run.fence(in: transaction)
        try await voices.lock(user, in: transaction)
        try await voices.failed(failure.reason, of: user, at: now(), in: transaction)
        // Nobody asks under the key of this job again: what its calls may still come to is nobody's.
        if try await voices.disownExpected(run.id.description, of: user, at: now(), in: transaction) {
          try await jobs.enqueue(try OnboardingJobs.findVoices(of: user), in: transaction)
        }
        try await run.finish(in: transaction)
      }
    }
  }

  /// Why nobody is asked any more: the jobs that should have made the voice died one after the other.
  private static let jobsLost = "jobs_lost"

  // MARK: At the provider

  /// Has a voice made of what a person has said.
  private func makeVoice(
    under key: String, for user: UUID, _ run: JobRun, _ more: (Transaction) async throws -> Void
  ) async throws {
    try await room.hold(Int(SampleChoice.mostBytes) * Self.copies) {
      let samples = try await samples(of: user)
      guard !samples.isEmpty else { throw ProviderFailure(Self.tooLittleAudio, isTemporary: false) }
      try await makeVoice(under: key, of: samples, for: user, run, more)
    }
  }

  /// Has a voice made and keeps it. What the provider may make of the call is known before it is called.
  private func makeVoice(
    under key: String, of samples: [SpokenSample], for user: UUID, _ run: JobRun, _ more: (Transaction) async throws -> Void
  ) async throws {
    let deadline = ContinuousClock.now.advanced(by: VoiceWindow.attempt)
    let expectation = try await database.transaction { transaction in
      // Whoever deletes the account takes the job away first: then nothing is asked for any more.
      try await run.fence(in: transaction)
      return try await voices.expect(
        key, of: user, until: now().advanced(by: VoiceWindow.whole), at: now(), in: transaction)
    }
    switch expectation {
    case .noConsent: return
    case .unwanted: throw Self.overtaken
    case .open: break
    }
    let made: MadeVoice
    do throws(ProviderFailure) {
      made = try await providers.cloner.clone("parley \(user)", of: samples, key: key, by: deadline)
    } catch {
      if !error.mayHaveTakenEffect { try await voices.expectNoMore(key, of: user) }
      throw error
    }
    // Where this fails the voice is there, and is found again by its key.
    let end: Arrival = try await database.transaction { transaction in
      try await run.fence(in: transaction)
      let kept = made.needsVerification ? nil : made.id
      guard try await voices.arrived(key, keeping: kept, of: user, at: now(), in: transaction) else {
        let agreesAgain = try await voices.refuse(made.id, of: user, at: now(), in: transaction)
        try await jobs.enqueue(try OnboardingJobs.deleteVoices(of: user), in: transaction)
        return agreesAgain ? .overtaken : .unwanted
      }
      guard !made.needsVerification else {
        // Nobody can use it, and nobody is to have it.
        try await voices.disown(made.id, of: user, at: now(), in: transaction)
        try await jobs.enqueue(try OnboardingJobs.deleteVoices(of: user), in: transaction)
        if try await !voices.unwantedExpected(of: user, on: transaction).isEmpty {
          try await jobs.enqueue(try OnboardingJobs.findVoices(of: user), in: transaction)
        }
        return .unusable
      }
      if try await voices.made(made.id, of: user, at: now(), in: transaction) {
        try await jobs.enqueue(try OnboardingJobs.deleteVoices(of: user), in: transaction)
      }
      // What earlier calls may still come to is another voice, whether they were made under this key or under others.
      if try await voices.disownExpected(of: user, but: key, at: now(), in: transaction) {
        try await jobs.enqueue(try OnboardingJobs.findVoices(of: user), in: transaction)
      }
      try await more(transaction)
      return .kept
    }
    if end == .overtaken { throw Self.overtaken }
    if end == .unusable { throw ProviderFailure(Self.verificationRequired, isTemporary: false) }
    if end == .kept { journal.cloned() }
  }

  /// What became of a voice that was made.
  private enum Arrival: Sendable {
    case kept
    /// Nobody wants it.
    case unwanted
    /// It does not speak before somebody has proved to the provider that it is theirs.
    case unusable
    /// Another one is wanted by now.
    case overtaken
  }

  /// The consent was taken back while the voice was being made, and given anew.
  private static let overtaken = ProviderFailure("voice_withdrawn", isTemporary: true)

  /// Deletes what nobody wants any more at the provider, until nothing of that is left.
  func deleteVoices(of user: UUID, _ run: JobRun) async throws {
    var isLeft = true
    while isLeft {
      for voice in try await voices.unwanted(of: user) { try await delete(voice, of: user) }
      // Who adds to it finds this job as long as it is there, and makes no other: so its end and the last look are one.
      isLeft = try await database.transaction { transaction in
        try await run.fence(in: transaction)
        try await voices.lock(user, in: transaction)
        guard try await voices.unwanted(of: user, on: transaction).isEmpty else { return true }
        try await run.finish(in: transaction)
        return false
      }
    }
  }

  private func delete(_ voice: String, of user: UUID) async throws {
    do throws(ProviderFailure) { try await providers.cloner.delete(voice) } catch {
      try Task.checkCancellation()
      journal.failed("delete voice", error, of: user)
      // Whatever the provider says: what somebody does not want is not kept.
      throw JobFailure.retry(after: error.retryAfter, error.reason)
    }
    try await voices.deleted(voice, of: user, at: now())
  }

  /// Looks for voices that may have come to be though nobody wants them, and deletes them, until none can come any more. Of those that were
  /// made under one label the one that is kept stays.
  func findVoices(of user: UUID, _ run: JobRun) async throws {
    for expected in try await voices.unwantedExpected(of: user) {
      // The last look begins when it is over.
      let isOver = now() >= expected.until
      do throws(ProviderFailure) {
        for voice in try await providers.cloner.voices(under: expected.key) where voice != expected.kept {
          try await providers.cloner.delete(voice)
        }
      } catch {
        try Task.checkCancellation()
        journal.failed("find voice", error, of: user)
        throw JobFailure.retry(after: error.retryAfter, error.reason)
      }
      if isOver { try await voices.looked(for: expected.key, of: user, at: now()) }
    }
    try await database.transaction { transaction in
      try await run.fence(in: transaction)
      try await voices.lock(user, in: transaction)
      let left = try await voices.unwantedExpected(of: user, on: transaction)
      try await run.finish(in: transaction)
      guard let first = left.first else { return }
      let next = min(max(first.until, now()), now().advanced(by: VoiceWindow.look))
      try await jobs.enqueue(try OnboardingJobs.findVoices(of: user, notBefore: next), in: transaction)
    }
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

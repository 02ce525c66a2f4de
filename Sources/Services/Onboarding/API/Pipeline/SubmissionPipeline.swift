internal import Blobs
internal import Jobs
internal import Logging
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

/// What is made of a submission (4.6): recordings go to the object store, are written down and understood, and a voice is made.
///
/// Every part that is done is committed together with the event that tells of it, under the job's lease: a run that begins anew goes on
/// behind it, and who watches sees each event once. A part that fails holds up no other; what a provider may do later is tried again, by
/// this job first and then in rounds (``OnboardingDomain/RetryPlan``).
struct SubmissionPipeline: Sendable {
  let database: Database
  let answers: AnswerStore
  let recordings: RecordingStore
  let submissions: SubmissionStore
  let identities: IdentityStore
  let voices: VoiceStore
  let works: WorkStore
  let blobs: any BlobStore
  let inspector: any RecordingInspecting
  let providers: PipelineProviders
  let jobs: any JobEngine
  let steps: StepCatalogues
  let journal: PipelineJournal
  /// Where recordings are loaded, however many jobs there are, and however long a provider takes to answer.
  let room = RecordingRoom(bytes: 256 << 20)
  let now: @Sendable () -> Instant

  /// Who does the work.
  var handlers: JobHandlers {
    var handlers = JobHandlers()
    handlers.handle(OnboardingJobs.process) { order, run in try await process(order, run) }
    handlers.handle(OnboardingJobs.clone) { user, run in try await clone(of: user, run) }
    handlers.handle(OnboardingJobs.deleteVoices) { user, run in try await deleteVoices(of: user, run) }
    handlers.handle(OnboardingJobs.findVoices) { user, run in try await findVoices(of: user, run) }
    handlers.handle(OnboardingJobs.storeRecordings) { user, run in try await storeRecordings(of: user, run) }
    return handlers
  }

  /// Works on a submission until nothing is left that this job can do.
  private func process(_ order: OnboardingJobs.Order, _ run: JobRun) async throws {
    guard let submission = try await submissions.submission(order.submission, of: order.user) else { return }
    var course = SubmissionCourse(submission, order, run)
    do {
      try await mustCount(course)
      try await take(order.user, run)
      if order.round == OnboardingJobs.givingUp { return try await giveUp(course) }
      if (1..<OnboardingJobs.operatorsRound).contains(order.round) { try await reopen(course) }
      try await storeRecordings(&course)
      try await writeDown(&course)
      try await mustCount(course)
      try await understand(&course)
      try await mustCount(course)
      try await makeVoice(&course)
      try await end(course)
    } catch is Superseded {
      // The newer one has everything done that is left, and has rounds of its own.
      journal.superseded(course)
    }
  }

  // MARK: One at a time

  /// How long a job waits that finds another one at work on the same person.
  private static let way = Duration.seconds(2)

  /// Takes the work on what a person has sent, for as long as the run has its lease.
  ///
  /// - Throws: ``Jobs/JobFailure`` where another job of the person has it: two would pay for the same parts, and the one that ends last
  ///   would write over what is newer.
  func take(_ user: UUID, _ run: JobRun) async throws {
    let taken = try await run.commit(behind: [SubmissionStore.lock(user)]) {
      $0.add(works.take(user, as: WorkStore.Holder(job: run.id, lease: run.lease)) { run.isRunning($0, lease: $1) })
    }
    guard taken.affectedRows.last == 1 else {
      throw JobFailure.giveWay(for: Self.way, "another job works on the same person")
    }
  }

  /// The person has sent other answers since: a later round of these has nothing to say any more.
  private struct Superseded: Error {}

  /// Whether this course is one of the answers that count: the first round always is, since nothing is taken before its end.
  func counts(_ course: SubmissionCourse, on place: any QueryRunning) async throws -> Bool {
    if course.round == 0 { return true }
    return try await submissions.newest(of: course.user, on: place)?.id == course.id
  }

  private func mustCount(_ course: SubmissionCourse, on place: (any QueryRunning)? = nil) async throws {
    guard try await counts(course, on: place ?? database) else { throw Superseded() }
  }

  // MARK: Steps

  /// Begins a stage that was not reached before.
  func enter(_ stage: SubmissionStage, done: Int, of total: Int, _ course: inout SubmissionCourse) async throws {
    guard course.tells, course.stage < stage else {
      // For operators, also where the person is told nothing any more.
      return try await course.run.report(done, of: total, stage.rawValue)
    }
    // What tells is the first round, which always counts.
    let event = SubmissionStore.event(stage, done: done, of: total, in: course.id, of: course.user, at: now())
    try await course.run.commit(reporting: .init(done, of: total, stage.rawValue)) { $0.add(event) }
    course.stage = stage
  }

  /// Does something in a transaction that nobody else's run gets past.
  ///
  /// - Parameters:
  ///   - course: For what.
  ///   - isForAll: Whether it holds for newer answers too. Otherwise a later round ends here when there are any.
  ///   - body: What is done.
  func commit(
    _ course: SubmissionCourse, isForAll: Bool = false, _ body: (Transaction) async throws -> Void
  ) async throws {
    try await database.transaction { transaction in
      // Before the job's own lock, as everywhere: who submits has this one, and may wait for the job.
      if course.round > 0 { try await submissions.lock(course.user, in: transaction) }
      try await course.run.fence(in: transaction)
      if !isForAll { try await mustCount(course, on: transaction) }
      try await body(transaction)
    }
  }

  /// What a failure means now: the job comes back to it soon, or it is written down for this round.
  ///
  /// - Returns: Whether it is to be written down.
  func isFinal(_ failure: ProviderFailure, _ course: inout SubmissionCourse) throws -> Bool {
    try Task.checkCancellation()
    guard failure.isTemporary, !course.isLastAttempt, !failure.isTooLong else { return true }
    course.postpone(failure)
    return false
  }

  /// Tells of a part that is without success in this round, and leaves its provider alone for as long as that asks for.
  func warn(
    _ warning: SubmissionWarning, after failure: ProviderFailure, _ course: SubmissionCourse, _ transaction: Transaction
  ) async throws {
    try await warn([warning], after: failure, course, transaction)
  }

  /// As ``warn(_:after:_:_:)`` for several parts that one failure is the reason of.
  func warn(
    _ warnings: [SubmissionWarning], after failure: ProviderFailure, _ course: SubmissionCourse, _ transaction: Transaction
  ) async throws {
    try await submissions.warn(warnings, in: course.id, of: course.user, transaction)
    guard failure.isTemporary, let wait = failure.retryAfter else { return }
    let until = now().advanced(by: min(wait, RetryPlan.longestRest))
    try await submissions.rest(course.id, of: course.user, until: until, in: transaction)
  }

  /// Comes back to what was postponed.
  func comeBack(_ course: SubmissionCourse) throws {
    guard let failure = course.postponed else { return }
    throw JobFailure.retry(after: failure.retryAfter, failure.reason)
  }

  /// What failed before is tried anew in a later round.
  private func reopen(_ course: SubmissionCourse) async throws {
    guard try await course.run.result(of: "reopen") == nil else { return }
    try await commit(course) { transaction in
      _ = try await recordings.reopen(of: course.user, [.failed], at: now(), in: transaction)
      try await course.run.checkpoint("reopen", in: transaction)
    }
  }

  /// The end of a round, with the next one where something is left.
  private func end(_ course: SubmissionCourse) async throws {
    var rest = Rest.nothing
    let pause = RetryPlan.pause(before: course.round + 1)
    try await commit(course) { transaction in
      // Under the lock of a later round: what is answered meanwhile is seen here, or gets a round of its own.
      rest = try await self.rest(course, on: transaction)
      let submission = try await submissions.submission(course.id, of: course.user, on: transaction)
      var follow: [NewJob] = []
      if course.tells {
        if let submission { follow.append(try HeldJobs.beginStanding(submission)) }
        follow.append(try OnboardingJobs.offerDemo(to: course.user))
        try await submissions.note(.done, done: 1, of: 1, in: course.id, of: course.user, at: now(), transaction)
      }
      if rest == .failed, let pause {
        let start = max(now().advanced(by: pause), submission?.restsUntil ?? now())
        follow.append(
          try OnboardingJobs.process.job(
            .init(user: course.user, submission: course.id, round: course.round + 1),
            uniqueKey: "\(course.id)/\(course.round + 1)", user: course.user, notBefore: start))
      }
      if pause == nil { follow += try await recordings.storing(of: course.user, on: transaction) }
      if !follow.isEmpty { _ = try await jobs.enqueue(follow, in: transaction) }
      if (1..<OnboardingJobs.operatorsRound).contains(course.round) {
        try await submissions.setRound(course.round, of: course.id, course.user, in: transaction)
      }
      try await course.run.finish(in: transaction)
    }
    journal.ended(course, rest, isLastRound: pause == nil)
  }

  /// The end of a submission whose work never comes to one. What was answered stays, and may be submitted again.
  private func giveUp(_ course: SubmissionCourse) async throws {
    let isGivenUp = try await database.transaction { transaction in
      try await course.run.fence(in: transaction)
      let isGivenUp = try await submissions.giveUp(course.id, of: course.user, at: now(), in: transaction)
      _ = try await jobs.enqueue(try await recordings.storing(of: course.user, on: transaction), in: transaction)
      try await course.run.finish(in: transaction)
      return isGivenUp
    }
    if isGivenUp { journal.gaveUp(course) }
  }

  /// What is left at the end of a round.
  enum Rest: Sendable {
    /// Nothing that another round could do.
    case nothing
    /// Only what waits for a provider to be set up: rounds would find none.
    case waits
    /// What a later round might do better.
    case failed
  }

  private func rest(_ course: SubmissionCourse, on place: any QueryRunning) async throws -> Rest {
    var reasons: [String] = []
    for recording in try await recordings.recordings(of: course.user, on: place) {
      if recording.storedAt == nil { reasons.append("audio_not_stored") }
      if recording.isWorthAnotherTry { reasons.append(recording.reason) }
    }
    if let failure = try await identities.identity(of: course.user, on: place)?.failure, !failure.isEmpty, failure != Self.noData
    {
      reasons.append(failure)
    }
    if let voice = try await voices.voice(of: course.user, on: place), voice.consentedAt != nil,
      voice.state == .failed || voice.state == .cloning, !Self.lastingVoiceFailures.contains(voice.failure)
    {
      reasons.append(voice.failure)
    }
    return reasons.isEmpty ? .nothing : reasons.allSatisfy { $0 == ProviderFailure.notConfigured } ? .waits : .failed
  }

  static let noData = "no_identity_data"
  static let limitReached = "clone_limit_reached"
  static let tooLittleAudio = "too_little_audio"
  static let verificationRequired = "verification_required"
  /// Why another try at a voice would end as the last one did.
  static let lastingVoiceFailures: Set<String> = [tooLittleAudio, verificationRequired]
}

extension ProviderFailure {
  /// Whether it asks for a pause that no round waits for.
  var isTooLong: Bool { (retryAfter ?? .zero) > RetryPlan.longestWait }
}

extension KeptRecording {
  /// Whether it waits, or failed for a reason that may pass.
  var isWorthAnotherTry: Bool { state == .pending || state == .failed && !RecordingDamage.words.contains(reason) }
}

/// Who is asked.
struct PipelineProviders: Sendable {
  let transcriber: any Transcribing
  let extractor: any IdentityExtracting
  let cloner: any VoiceCloning

  /// What there is a provider for.
  var present: Set<WaitingStore.Part> {
    var parts: Set<WaitingStore.Part> = []
    if !(transcriber is AbsentProvider) { parts.insert(.recordings) }
    if !(extractor is AbsentProvider) { parts.insert(.identity) }
    if !(cloner is AbsentProvider) { parts.insert(.voice) }
    return parts
  }
}

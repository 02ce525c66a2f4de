internal import Blobs
internal import EventLoop
internal import Jobs
internal import Logging
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import ServiceKit
internal import Synchronization
internal import Telemetry
internal import Values

/// Removes what has run out, and sees to it that no submission is forgotten.
struct OnboardingTending: Sendable {
  private let context: ServiceContext
  private let submissions: SubmissionStore
  private let uploads: UploadStore
  private let anonymous: AnonymousRecordStore
  private let recordings: RecordingSweep
  private let voices: VoiceStore
  private let jobs: PostgreSQLJobs
  private let metrics: TendingMetrics
  private let waiting: WaitingStore
  /// What can be asked for now.
  private let parts: Set<WaitingStore.Part>
  private let overdue: PrometheusGauge

  init(
    _ context: ServiceContext, _ submissions: SubmissionStore, _ providers: PipelineProviders, _ jobs: PostgreSQLJobs,
    _ blobs: any BlobStore
  ) {
    self.context = context
    self.submissions = submissions
    uploads = UploadStore(context.database)
    anonymous = AnonymousRecordStore(context.database)
    recordings = RecordingSweep(
      database: context.database, unwanted: UnwantedRecordingStore(context.database), submissions: submissions, blobs: blobs,
      loop: context.loops.loops[0], log: context.log)
    voices = VoiceStore(context.database)
    self.jobs = jobs
    metrics = TendingMetrics(context.metrics)
    waiting = WaitingStore(context.database)
    parts = providers.present
    overdue = context.metrics.gauge("parley_onboarding_overdue", help: "Submissions on which work should have ended.")
  }

  @Sendable func run() async throws {
    while true {
      for part in TendingPart.allCases {
        try await attempt(part) { try await look(after: part, at: context.now()) }
      }
      try await context.loops.loops[0].sleep(for: context.settings[OnboardingKeys.tendingInterval])
    }
  }

  /// What fails holds up nothing else, and is seen by operators.
  private func attempt(_ part: TendingPart, _ body: () async throws -> Void) async throws {
    do { try await body() } catch {
      try Task.checkCancellation()
      metrics.failed(part)
      context.log.warning("onboarding was not looked after", metadata: ["part": "\(part)", "cause": "\(error)"])
    }
  }

  private func look(after part: TendingPart, at now: Instant) async throws {
    func since(_ key: ConfigurationKey<Duration>) -> Instant { now.advanced(by: .zero - context.settings[key]) }
    switch part {
    case .uploads: _ = try await uploads.sweep(before: since(OnboardingKeys.uploadRetention))
    case .anonymous: _ = try await anonymous.sweep(at: now)
    case .recordings: try await recordings.forgetRows(before: since(OnboardingKeys.orphanRetention), at: now)
    case .objects: try await recordings.emptyStore(at: now)
    // What died in the queue by a defect, or was purged there, is still owed to people.
    case .voices:
      for user in try await voices.peopleWithUnwanted() { _ = try await jobs.enqueue(OnboardingJobs.deleteVoices(of: user)) }
    case .expected:
      for user in try await voices.peopleWithUnwantedExpected() {
        _ = try await jobs.enqueue(OnboardingJobs.findVoices(of: user))
      }
    case .making:
      for voice in try await voices.awaited() { try await attempt(part) { try await renew(voice, at: now) } }
    case .departures:
      for user in try await submissions.departed(by: now) { _ = try await jobs.enqueue(OnboardingJobs.deleteRest(of: user)) }
    case .waiting:
      for user in try await waiting.people(for: parts) { try await attempt(part) { try await wake(user, at: now) } }
    case .submissions: try await lookAfterRunning(overdueSince: since(OnboardingKeys.overdueAfter), at: now)
    case .supersededSubmissions:
      _ = try await submissions.sweepSuperseded(before: since(OnboardingKeys.submissionRetention))
    case .submissionEvents:
      _ = try await submissions.sweepEvents(before: since(OnboardingKeys.submissionRetention), at: now)
    }
  }

  /// How many submissions are looked at with one statement.
  private static let page = 200

  /// Sees to it that each submission on which work goes on has a job, and counts those on which it should have ended.
  private func lookAfterRunning(overdueSince limit: Instant, at now: Instant) async throws {
    var overdueCount = 0
    var page: [KeptSubmission] = []
    repeat {
      page = try await submissions.running(after: page.last, limit: Self.page)
      overdueCount += page.count { $0.createdAt < limit }
      let idle = try await jobs.queue.keysWithoutJob(of: OnboardingJobs.process.name, among: page.map(\.id.description))
      for submission in page where idle.contains(submission.id.description) {
        try await attempt(.submissions) { try await renew(submission, at: now) }
      }
    } while page.count == Self.page
    overdue.set(overdueCount)
  }

  /// A job is live that would do what is to be woken, and may be past it.
  private struct IsWorkedOn: Error {}

  /// Has done what a provider is there for by now that was not when it was asked. Rounds begin anew with it.
  private func wake(_ user: UUID, at now: Instant) async throws {
    do {
      guard try await context.database.transaction({ try await wake(user, at: now, in: $0) }) else { return }
      context.log.info("what waited for a provider is done now", metadata: ["user": "\(user)"])
    } catch is IsWorkedOn {
      // What it leaves waits still, as nothing was woken, and is looked at next time.
    }
  }

  private func wake(_ user: UUID, at now: Instant, in transaction: Transaction) async throws -> Bool {
    // Who is doing something this moment is looked at next time, and so is who waits for an answer.
    guard try await submissions.tryLock(user, in: transaction) else { return false }
    let newest = try await submissions.newest(of: user, on: transaction)
    guard newest == nil || newest?.doneAt != nil else { return false }
    let woken = try await waiting.wake(user, parts, at: now, in: transaction)
    let job: NewJob
    if woken.isEmpty {
      // Another copy has done it meanwhile.
      return false
    } else if let newest {
      let order = OnboardingJobs.Order(user: user, submission: newest.id, round: 1)
      job = try OnboardingJobs.process.job(order, uniqueKey: "\(newest.id)/1", user: user)
    } else if woken.contains(.voice) {
      try await voices.begin(of: user, recloning: false, at: now, in: transaction)
      job = try OnboardingJobs.clone(of: user)
    } else {
      return true
    }
    guard try await jobs.enqueue(job, in: transaction).isNew else { throw IsWorkedOn() }
    return true
  }

  /// Sees to it that a submission has a job. One whose jobs die again and again, each of them having paid for the work anew, is given up.
  private func renew(_ submission: KeptSubmission, at now: Instant) async throws {
    let passed = submission.renewedAt.map { now.duration(since: $0) }
    let renewal = RetryPlan.renewal(after: submission.renewals, passed)
    guard renewal != .notYet else { return }
    let order = OnboardingJobs.Order(
      user: submission.user, submission: submission.id, round: renewal == .again ? 0 : OnboardingJobs.givingUp)
    let job = try OnboardingJobs.process.job(order, uniqueKey: submission.id.description, user: submission.user)
    let isNew = try await context.database.transaction { transaction in
      // Its job may have come to its end since it was looked for.
      try await submissions.lock(submission.user, in: transaction)
      let current = try await submissions.submission(submission.id, of: submission.user, on: transaction)
      guard let current, current.doneAt == nil, current.renewals == submission.renewals else { return false }
      guard try await jobs.enqueue(job, in: transaction).isNew else { return false }
      if renewal == .again { try await submissions.renewed(submission.id, of: submission.user, at: now, in: transaction) }
      return true
    }
    guard isNew, renewal == .again else { return }
    context.log.warning(
      "a submission had no job, and has one again", metadata: ["submission": "\(submission.id)", "user": "\(submission.user)"])
  }

  /// Sees to it that a voice that is being made has a job. The last of those that it gets only says that it came to nothing.
  private func renew(_ voice: VoiceStore.Awaited, at now: Instant) async throws {
    let renewal = RetryPlan.renewal(after: voice.renewals, voice.renewals > 0 ? now.duration(since: voice.since) : nil)
    guard renewal != .notYet else { return }
    let isNew = try await context.database.transaction { transaction in
      guard try await jobs.enqueue(try OnboardingJobs.clone(of: voice.user), in: transaction).isNew else { return false }
      try await voices.renewed(of: voice.user, at: now, in: transaction)
      return true
    }
    if isNew {
      context.log.warning("a voice that is being made had no job, and has one again", metadata: ["user": "\(voice.user)"])
    }
  }
}

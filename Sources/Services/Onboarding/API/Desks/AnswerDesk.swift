internal import EventLoop
internal import JOSE
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL
internal import Telemetry
internal import Values

/// Answers that come one by one, and those of people without an account.
struct AnswerDesk: Sendable {
  let answers: AnswerStore
  let keeping: AnswerKeeping
  let submissions: SubmissionStore
  let anonymous: AnonymousRecordStore
  let steps: StepCatalogue
  let following: RecordingFollowUp
  /// Where recordings are looked into: 16 MiB of them would hold up a loop for a while.
  let blocking: BlockingPool
  let retention: Duration
  /// How many bytes all records of people without an account may take together.
  let anonymousBytes: Int
  /// How many of them were removed because newer ones came.
  let crowdedOut: PrometheusCounter
  let now: @Sendable () -> Instant

  /// Keeps one answer.
  func save(_ message: OnboardingAnswer?, step: Int, of user: UUID) async throws -> AnswerStore.Kept {
    guard StepKey.range.contains(step) else { throw OnboardingRefusal.invalid(field: "step", "1 to 99") }
    guard let message else { throw OnboardingRefusal.invalid(field: "answer", "the answer is missing") }
    let looked = try await LookedAnswer.looked(message, step: step, steps, on: blocking)
    return try await keep([looked], of: user) { outcome in
      if let warning = outcome.warnings.first {
        throw OnboardingRefusal.badRecording(field: "answer.value", word: warning.reason)
      }
    }
  }

  /// Keeps answers of somebody whose answers nobody works on, in two round trips.
  private func keep(
    _ looked: [LookedAnswer], of user: UUID, _ judge: (AnswerKeeping.Outcome) throws -> Void
  ) async throws -> AnswerStore.Kept {
    try await submissions.entering(
      user, asking: { (newest: $0.add(SubmissionStore.newest(of: user)), keeping: keeping.ask(for: looked, of: user, in: &$0)) }
    ) { transaction, asked, found in
      let newest: KeptSubmission? = try found.row(of: asked.newest)
      try Self.mustRest(newest)
      let outcome = try await keeping.keep(looked, of: user, knowing: asked.keeping, found, in: transaction)
      try judge(outcome)
      if outcome.isUnstored { try following.add(of: user, newest, to: transaction) }
      return try await answers.commit(outcome.kept, of: user, at: now(), transaction)
    }
  }

  /// The record of a person as an app reads it, and how far the newest submission is: in one round trip.
  func progress(of user: UUID) async throws -> (state: OnboardingState, submission: Submission?) {
    let (kept, course) = try await submissions.course(of: user, beside: AnswerStore.answers(of: user), as: KeptAnswer.self)
    return (state(kept, course?.submission), course.map { Submission($0.submission, at: $0.event, $0.warnings) })
  }

  private func state(_ kept: [KeptAnswer], _ submission: KeptSubmission?) -> OnboardingState {
    let last = submission == nil ? kept.map(\.step).max() ?? 0 : steps.steps.count
    let count = max(steps.steps.count, 1)
    return .init(
      currentStep: Int32(last), responses: Dictionary(uniqueKeysWithValues: kept.map { ("\($0.step)", OnboardingAnswer($0)) }),
      totalResponses: Int32(kept.count), progressPercentage: Int32((min(last, count) * 200 + count) / (2 * count)),
      isCompleted: submission != nil, completedAt: submission?.createdAt.description, userName: submission?.name,
      callTime: CallWindow(start: submission?.callStart, minutes: submission?.callMinutes)?.text,
      userTimezone: submission?.zone)
  }

  // MARK: Without an account

  /// - Returns: Until when it is kept.
  func saveAnonymous(_ state: OnboardingState?, under key: String) async throws -> Instant {
    let record = try ReceivedRecord(state, steps)
    for looked in record.answers {
      if case .dataURL = looked.answer.content {
        throw OnboardingRefusal.invalid(field: "state.responses", "recordings stay on the device until somebody has signed in")
      }
    }
    guard let json = try state?.storableJSON(field: "state"), json.utf8.count <= SubmissionLimits.anonymousRecord else {
      throw OnboardingRefusal.invalid(field: "state", "at most \(SubmissionLimits.anonymousRecord) bytes")
    }
    let expiresAt = now().advanced(by: retention)
    let removed = try await anonymous.keep(json, under: try hash(key), until: expiresAt, most: anonymousBytes)
    crowdedOut.increment(by: Int64(removed))
    return expiresAt
  }

  func anonymousState(under key: String) async throws -> OnboardingState {
    guard let json = try await anonymous.record(under: try hash(key), at: now()) else {
      throw OnboardingRefusal.noAnonymousRecord
    }
    return try OnboardingState(jsonString: json)
  }

  /// - Returns: How many steps have an answer.
  func claim(under key: String, for user: UUID) async throws -> Int {
    let hash = try hash(key)
    return try await submissions.entering(user, asking: { $0.add(SubmissionStore.newest(of: user)) }) {
      transaction, asked, found in
      let newest: KeptSubmission? = try found.row(of: asked)
      try Self.mustRest(newest)
      guard let json = try await anonymous.take(under: hash, at: now(), in: transaction) else {
        throw OnboardingRefusal.noAnonymousRecord
      }
      let looked = try ReceivedRecord(try OnboardingState(jsonString: json), steps).answers
      var question: AnswerKeeping.Asked?
      let known = try await transaction.batch { question = keeping.ask(for: looked, of: user, in: &$0) }
      guard let question else { return 0 }
      let outcome = try await keeping.keep(looked, of: user, knowing: question, known, in: transaction)
      if outcome.isUnstored { try following.add(of: user, newest, to: transaction) }
      return try await answers.commit(outcome.kept, of: user, at: now(), transaction).answered
    }
  }

  private func hash(_ key: String) throws(OnboardingRefusal) -> [UInt8] {
    guard (32...128).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw .invalid(field: "progress_key", "32 to 128 printable characters")
    }
    return SHA256.digest(Array(key.utf8))
  }

  /// Answers are not changed under the hands of who works on them.
  private static func mustRest(_ newest: KeptSubmission?) throws(OnboardingRefusal) {
    if let newest, newest.doneAt == nil { throw .running(submission: newest.id.description) }
  }
}

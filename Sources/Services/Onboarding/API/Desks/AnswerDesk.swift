internal import JOSE
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL
internal import Telemetry

/// Answers that come one by one, and those of people without an account.
struct AnswerDesk: Sendable {
  let answers: AnswerStore
  let keeping: AnswerKeeping
  let submissions: SubmissionStore
  let anonymous: AnonymousRecordStore
  let steps: StepCatalogue
  let retention: Duration
  /// How many bytes all records of people without an account may take together.
  let anonymousBytes: Int
  /// How many of them were removed because newer ones came.
  let crowdedOut: PrometheusCounter
  let now: @Sendable () -> Timestamp

  /// Keeps one answer.
  func save(_ message: OnboardingAnswer?, step: Int, of user: UUID) async throws -> AnswerStore.Kept {
    guard StepKey.range.contains(step) else { throw OnboardingRefusal.invalid(field: "step", "1 to 99") }
    guard let message else { throw OnboardingRefusal.invalid(field: "answer", "the answer is missing") }
    let answer = ReceivedAnswer(message, step: step, steps)
    if let fault = answer.fault { throw OnboardingRefusal.invalid(field: "answer.\(fault.field)", fault.reason) }
    let looked = LookedAnswer(answer)
    return try await submissions.entering(user) { transaction in
      try await mustRest(user, in: transaction)
      let (kept, warning) = try await keeping.keep(looked, of: user, in: transaction)
      if let warning { throw OnboardingRefusal.badRecording(field: "answer.value", word: warning.reason) }
      return try await answers.keep(kept, of: user, at: now(), in: transaction)
    }
  }

  /// The record of a person as an app reads it.
  func state(of user: UUID) async throws -> OnboardingState {
    let kept = try await answers.answers(of: user)
    let submission = try await submissions.newest(of: user)
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
  func saveAnonymous(_ state: OnboardingState?, under key: String) async throws -> Timestamp {
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
    return try await submissions.entering(user) { transaction in
      try await mustRest(user, in: transaction)
      guard let json = try await anonymous.take(under: hash, at: now(), in: transaction) else {
        throw OnboardingRefusal.noAnonymousRecord
      }
      var answered = 0
      for looked in try ReceivedRecord(try OnboardingState(jsonString: json), steps).answers {
        let (kept, _) = try await keeping.keep(looked, of: user, in: transaction)
        answered = try await answers.keep(kept, of: user, at: now(), in: transaction).answered
      }
      return answered
    }
  }

  private func hash(_ key: String) throws(OnboardingRefusal) -> [UInt8] {
    guard (32...128).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw .invalid(field: "progress_key", "32 to 128 printable characters")
    }
    return SHA256.digest(Array(key.utf8))
  }

  /// Answers are not changed under the hands of who works on them.
  private func mustRest(_ user: UUID, in transaction: Transaction) async throws {
    if let newest = try await submissions.newest(of: user, on: transaction), newest.doneAt == nil {
      throw OnboardingRefusal.running(submission: newest.id.description)
    }
  }
}

internal import EventLoop
internal import JSON
internal import Jobs
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL

/// Takes all answers at once: when it returns, they are durable together with the job that goes on from there.
struct SubmissionIntake: Sendable {
  let answers: AnswerStore
  let keeping: AnswerKeeping
  let submissions: SubmissionStore
  let voices: VoiceStore
  let jobs: any JobEngine
  let steps: StepCatalogue
  /// Where recordings are looked into: 64 MiB of them would hold up a loop for a while.
  let blocking: BlockingPool
  let now: @Sendable () -> Timestamp

  /// The submission that the request is, or has been before.
  ///
  /// - Throws: ``OnboardingRefusal``.
  func take(_ request: consuming CompleteRequest, of user: UUID) async throws -> KeptSubmission {
    let (record, hash) = try await blocking.run { [steps, state = request.state] in
      let record = try ReceivedRecord(state, steps)
      return (record, record.contentHash)
    }
    // What else it says is small, and what is in the record is not needed twice.
    request.state = nil
    let request = request
    guard !record.answers.isEmpty else { throw OnboardingRefusal.invalid(field: "state.responses", "there are no answers") }
    guard request.idempotencyKey.utf8.count <= 64, request.idempotencyKey.isStorable else {
      throw OnboardingRefusal.invalid(field: "idempotency_key", "at most 64 characters, and no U+0000")
    }
    for (field, token) in [("voip_token", request.voipToken), ("push_token", request.pushToken)] {
      guard let token else { continue }
      guard token.isStorable, token.utf8.count <= SubmissionLimits.token else {
        throw OnboardingRefusal.invalid(field: field, "at most \(SubmissionLimits.token) bytes, and no U+0000")
      }
    }
    let device = try request.deviceMetadata?.storableJSON(field: "device_metadata", atMost: SubmissionLimits.device)
    let consent = try Self.consent(request)
    return try await submissions.entering(user) { transaction in
      let known = try await known(hash, request.idempotencyKey, record, of: user, in: transaction)
      let moment = now()
      // Both may come later than the answers: with the same ones, sent again. A consent that was taken back is not given anew by that: what
      // is sent again may be what was sent before.
      let isTakenBack = try await known == nil ? false : voices.voice(of: user, on: transaction)?.withdrawnAt != nil
      if let consent, !isTakenBack { try await voices.consent(to: consent, of: user, at: moment, in: transaction) }
      if let known {
        if let device = try HeldJobs.registerDevice(request, of: user, submission: known.id) {
          try await jobs.enqueue(device, in: transaction)
        }
        return known
      }
      var (kept, warnings): ([KeptAnswer], [OnboardingDomain.SubmissionWarning]) = ([], [])
      for answer in record.answers {
        let (answer, warning) = try await keeping.keep(answer, of: user, in: transaction)
        kept.append(answer)
        if let warning { warnings.append(warning) }
      }
      try await answers.replace(kept, of: user, at: moment, in: transaction)
      let new = SubmissionStore.NewSubmission(
        id: UUID.v7(at: moment), contentHash: hash, key: request.idempotencyKey.isEmpty ? nil : request.idempotencyKey,
        facts: PersonFacts(
          record.answers.map(\.answer), name: record.name, callTime: record.callTime, zone: record.zone,
          deviceZone: request.deviceMetadata?.timezone, isZone: TimeZoneNames.isKnown),
        answers: kept.count, recordings: Set(kept.compactMap(\.recording)).count,
        device: device)
      try await submissions.add(new, of: user, warnings, at: moment, in: transaction)
      var follow = [
        try OnboardingJobs.process.job(
          .init(user: user, submission: new.id, round: 0), uniqueKey: new.id.description, user: user)
      ]
      if let device = try HeldJobs.registerDevice(request, of: user, submission: new.id) { follow.append(device) }
      _ = try await jobs.enqueue(follow, in: transaction)
      guard let added = try await submissions.newest(of: user, on: transaction) else {
        throw DatabaseError(.queryFailed, "a submission that was added is not there")
      }
      return added
    }
  }

  /// The submission that a request repeats; nil where it repeats none.
  private func known(
    _ hash: [UInt8], _ key: String, _ record: ReceivedRecord, of user: UUID, in transaction: Transaction
  ) async throws -> KeptSubmission? {
    if !key.isEmpty, let named = try await submissions.submission(key: key, of: user, on: transaction) {
      guard named.contentHash == hash else { throw OnboardingRefusal.keyReused }
      return named
    }
    guard let newest = try await submissions.newest(of: user, on: transaction) else { return nil }
    // What was given up is begun anew, and so is what brings a recording again that is lost.
    if newest.contentHash == hash, newest.stage != .failed {
      guard newest.doneAt != nil else { return newest }
      let lost = try await keeping.recordings.lostDigests(of: user, in: transaction)
      if lost.isDisjoint(with: record.recordings) { return newest }
    }
    guard newest.doneAt != nil else { throw OnboardingRefusal.running(submission: newest.id.description) }
    return nil
  }

  private static func consent(_ request: CompleteRequest) throws(OnboardingRefusal) -> String? {
    guard let consent = request.voiceConsent, consent.isGiven else { return nil }
    try OnboardingRefusal.checkStatement(consent.statement, field: "voice_consent.statement")
    return consent.statement
  }
}

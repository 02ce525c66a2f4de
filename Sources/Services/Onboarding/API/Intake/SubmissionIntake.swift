internal import EventLoop
internal import JSON
internal import Jobs
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL
internal import Values

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
  let now: @Sendable () -> Instant

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
    return try await submissions.entering(user, asking: { ask(for: record, request.idempotencyKey, of: user, in: &$0) }) {
      transaction, asked, found in
      let known = try known(hash, request.idempotencyKey, record, asked, found)
      let moment = now()
      // Both may come later than the answers: with the same ones, sent again. A consent that was taken back is not given anew by that: what
      // is sent again may be what was sent before.
      let isTakenBack = try await known == nil ? false : voices.voice(of: user, on: transaction)?.withdrawnAt != nil
      if let consent, !isTakenBack { try await voices.consent(to: consent, of: user, at: moment, in: transaction) }
      if let known {
        if let device = try HeldJobs.registerDevice(request, of: user, submission: known.id) {
          try jobs.add([device], to: transaction)
        }
        return known
      }
      let outcome = try await keeping.keep(record.answers, of: user, knowing: asked.keeping, found, in: transaction)
      answers.replace(outcome.kept, of: user, at: moment, in: transaction)
      let new = SubmissionStore.NewSubmission(
        id: UUID.v7(at: moment), contentHash: hash, key: request.idempotencyKey.isEmpty ? nil : request.idempotencyKey,
        facts: PersonFacts(
          record.answers.map(\.answer), name: record.name, callTime: record.callTime, zone: record.zone,
          deviceZone: request.deviceMetadata?.timezone, isZone: TimeZoneNames.isKnown),
        answers: outcome.kept.count, recordings: Set(outcome.kept.compactMap(\.recording)).count,
        device: device)
      submissions.add(new, of: user, outcome.warnings, at: moment, in: transaction)
      var follow = [
        try OnboardingJobs.process.job(
          .init(user: user, submission: new.id, round: 0), uniqueKey: new.id.description, user: user)
      ]
      if let device = try HeldJobs.registerDevice(request, of: user, submission: new.id) { follow.append(device) }
      try jobs.add(follow, to: transaction)
      var question = 0
      let last = try await transaction.commit { question = $0.add(SubmissionStore.newest(of: user)) }
      guard let added: KeptSubmission = try last.row(of: question) else {
        throw DatabaseError(.queryFailed, "a submission that was added is not there")
      }
      return added
    }
  }

  /// What has to be known before a submission is taken, and where it is among the answers of a batch.
  private struct Asked {
    let named: Int?
    let newest: Int
    let lost: Int
    let keeping: AnswerKeeping.Asked
  }

  private func ask(for record: ReceivedRecord, _ key: String, of user: UUID, in batch: inout Batch) -> Asked {
    Asked(
      named: key.isEmpty ? nil : batch.add(SubmissionStore.submission(key: key, of: user)),
      newest: batch.add(SubmissionStore.newest(of: user)), lost: batch.add(RecordingStore.lostDigests(of: user)),
      keeping: keeping.ask(for: record.answers, of: user, in: &batch))
  }

  /// The submission that a request repeats; nil where it repeats none.
  private func known(
    _ hash: [UInt8], _ key: String, _ record: ReceivedRecord, _ asked: Asked, _ found: BatchResults
  ) throws -> KeptSubmission? {
    if let question = asked.named, let named: KeptSubmission = try found.row(of: question) {
      guard named.contentHash == hash else { throw OnboardingRefusal.keyReused }
      return named
    }
    guard let newest: KeptSubmission = try found.row(of: asked.newest) else { return nil }
    // What was given up is begun anew, and so is what brings a recording again that is lost.
    if newest.contentHash == hash, newest.stage != .failed {
      guard newest.doneAt != nil else { return newest }
      let lost = try found.rows(of: asked.lost, as: [UInt8].self)
      if Set(lost).isDisjoint(with: record.recordings) { return newest }
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

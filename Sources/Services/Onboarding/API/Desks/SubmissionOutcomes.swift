internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import Values

/// What became of submissions, as their answer says it: from what is kept, so that it is the same whenever it is asked for.
struct SubmissionOutcomes: Sendable {
  let submissions: SubmissionStore
  let recordings: RecordingStore
  let identities: IdentityStore
  let voices: VoiceStore
  let steps: StepCatalogues

  func response(to id: UUID, of user: UUID) async throws -> CompleteResponse {
    guard let kept = try await submissions.submission(id, of: user) else { throw OnboardingRefusal.noSubmission }
    let isRunning = kept.doneAt == nil
    // What is asked at once travels together.
    async let warned = submissions.warnings(of: id, user)
    async let last = submissions.lastEvent(of: id, user)
    async let identity = extraction(of: user, isRunning: isRunning)
    async let clone = voice(of: user, isRunning: isRunning)
    let (warnings, event) = try await (warned, last)
    return try await CompleteResponse(
      success: true, message: Self.message(kept),
      completedAt: .init(kept.createdAt), totalSteps: Int32(kept.answers), filesProcessed: Int32(kept.recordings),
      identityExtraction: identity,
      processingWarnings: warnings.isEmpty ? nil : warnings.map(\.message).joined(separator: "; "),
      identityStatusSync: .init(success: false, error: isRunning ? "in_progress" : "held"), jobID: id.description,
      voiceClone: clone, submission: .init(kept, at: event, warnings))
  }

  private static func message(_ kept: KeptSubmission) -> String {
    if kept.doneAt == nil { return "Your answers are safe. They are being worked on." }
    return kept.stage == .failed ? "Your answers are safe. The work on them was given up." : "Onboarding is complete."
  }

  private func extraction(of user: UUID, isRunning: Bool) async throws -> IdentityExtraction {
    async let spoken = recordings.spoken(of: user)
    async let understood = isRunning ? nil : identities.identity(of: user)
    async let known = isRunning ? [:] : identities.facts(of: user)
    let (words, identity) = try await (spoken, understood)
    let fields = IdentityCatalogue.known(try await known, steps).count
    let error: String? =
      if isRunning { "in_progress" } else if let identity { identity.failure.isEmpty ? nil : identity.failure } else {
        SubmissionPipeline.noData
      }
    return .init(
      success: fields > 0 && error == nil, fieldsExtracted: Int32(fields), voiceTranscribed: Int32(words), error: error)
  }

  private func voice(of user: UUID, isRunning: Bool) async throws -> VoiceCloneResult {
    let voice = try await voices.voice(of: user)
    if let id = voice?.voice { return .init(success: true, voiceID: id) }
    let error =
      if voice?.consentedAt == nil { "no_consent" } else if isRunning { "in_progress" } else {
        voice.flatMap { $0.failure.isEmpty ? nil : $0.failure } ?? "in_progress"
      }
    return .init(success: false, error: error)
  }
}

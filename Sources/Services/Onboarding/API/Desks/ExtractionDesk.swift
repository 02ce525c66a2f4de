internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL
internal import Values
internal import WellKnown

/// Has stored answers understood once more.
struct ExtractionDesk: Sendable {
  let answers: AnswerStore
  let submissions: SubmissionStore
  let identities: IdentityStore
  let pipeline: SubmissionPipeline
  let now: @Sendable () -> Instant

  func again(of user: UUID) async throws -> ReExtractResponse {
    guard try await !answers.answers(of: user).isEmpty else { throw OnboardingRefusal.noAnswers }
    let newest = try await submissions.newest(of: user)
    if let newest, newest.doneAt == nil { throw OnboardingRefusal.running(submission: newest.id.description) }
    let known = try await identities.identity(of: user)?.extractedAt
    let extraction = try await pipeline.extraction(of: user, key: "\(UUID.v7(at: now()))/identity")
    try await submissions.entering(user) { transaction in
      // The model took its time: what came meanwhile is newer than what it was asked.
      let last = try await submissions.newest(of: user, on: transaction)
      if let last, last.doneAt == nil { throw OnboardingRefusal.running(submission: last.id.description) }
      guard last?.id == newest?.id, try await identities.identity(of: user, on: transaction)?.extractedAt == known else {
        throw OnboardingRefusal.overtaken
      }
      try await pipeline.keep(extraction, name: newest?.name ?? "User", of: user, in: transaction)
    }
    let fields = IdentityCatalogue.known(try await identities.facts(of: user), pipeline.steps).count
    return .init(
      success: fields > 0 && extraction.word == nil, fieldsExtracted: Int32(fields), error: extraction.word,
      extractedAt: .init(now()))
  }
}

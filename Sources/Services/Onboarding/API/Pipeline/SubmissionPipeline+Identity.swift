internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

extension SubmissionPipeline {
  /// Answers are understood. What is an answer itself needs no model, and is kept whatever becomes of the rest.
  func understand(_ course: inout SubmissionCourse) async throws {
    if course.round == 0 {
      guard course.stage < .cloning else { return }
      // Only a run before this one can have done it.
      let isBegun = course.stage == .extracting
      try await enter(.extracting, done: 0, of: 1, &course)
      if isBegun, let last = try await submissions.lastEvent(of: course.id, course.user), last.stage == .extracting,
        last.done == 1
      {
        return
      }
    } else {
      let hasNewWords = try await course.run.result(of: Self.newWords) != nil
      let known = try await identities.identity(of: course.user)
      guard hasNewWords || known?.failure.isEmpty != true else { return }
    }
    let extraction = try await extraction(of: course.user, key: "\(course.id)/identity/\(course.round)")
    if let failure = extraction.failure {
      journal.failed("extract", failure, course)
      guard try isFinal(failure, &course) else { return try comeBack(course) }
    }
    try await commit(course) { [course] transaction in
      try await keep(extraction, name: course.name, of: course.user, in: transaction)
      if let word = extraction.word {
        try await warn(
          .init("extraction_failed", "the answers could not be understood (\(word))"),
          after: extraction.failure ?? ProviderFailure(word, isTemporary: false), course, transaction)
      } else {
        try await submissions.settle("extraction_failed", step: 0, in: course.id, of: course.user, transaction)
      }
      if course.tells {
        try await submissions.note(.extracting, done: 1, of: 1, in: course.id, of: course.user, at: now(), transaction)
      }
    }
    journal.extracted(extraction.word ?? "ok")
  }

  /// What was understood of a person.
  struct Extraction: Sendable {
    var facts: [IdentityFact]
    /// Whether any of them is a field of the catalogue.
    var hasFields: Bool
    /// Why a model had no part in it.
    var failure: ProviderFailure?

    /// Why it did not succeed, in a word; nil when it did.
    var word: String? { failure?.reason ?? (hasFields ? nil : SubmissionPipeline.noData) }
  }

  /// Has a person's answers understood.
  func extraction(of user: UUID, key: String) async throws -> Extraction {
    let stated = try await statedAnswers(of: user)
    var draft = IdentityDraft(stated)
    var failure: ProviderFailure?
    if !stated.isEmpty {
      do throws(ProviderFailure) {
        let conclusions = try await providers.extractor.extract(ExtractionTask(stated, steps), key: key)
        draft.add(conclusions, by: providers.extractor.model, from: stated)
      } catch { failure = error }
    }
    let fields = Set(IdentityCatalogue.all(steps))
    return Extraction(facts: draft.facts, hasFields: draft.facts.contains { fields.contains($0.name) }, failure: failure)
  }

  /// Keeps what was understood. What a model concluded before stays where it has nothing to say now.
  func keep(_ extraction: Extraction, name: String, of user: UUID, in transaction: Transaction) async throws {
    var facts = extraction.facts
    if extraction.failure != nil {
      let known = try await identities.facts(of: user, on: transaction).values.map(\.fact)
      facts += known.filter { fact in fact.source == .model && !facts.contains { $0.name == fact.name } }
    }
    try await identities.keep(facts, name: name, failure: extraction.word ?? "", of: user, at: now(), in: transaction)
  }

  private func statedAnswers(of user: UUID) async throws -> [StatedAnswer] {
    let spoken = Dictionary(
      try await recordings.recordings(of: user).map { ($0.digest, $0.transcript) }, uniquingKeysWith: { first, _ in first })
    return try await answers.answers(of: user).compactMap { answer in
      if let digest = answer.recording {
        return (spoken[digest] ?? nil).map { StatedAnswer(step: answer.step, fields: answer.fields, text: $0, isSpoken: true) }
      }
      // What came in the place of a recording and is none says nothing.
      guard let text = answer.text, text.isSaid(as: answer.type) else { return nil }
      return StatedAnswer(step: answer.step, fields: answer.fields, text: text, isSpoken: false)
    }
  }
}

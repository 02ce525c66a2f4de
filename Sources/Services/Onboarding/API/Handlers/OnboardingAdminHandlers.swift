internal import Jobs
internal import Logging
internal import OnboardingDomain
internal import OnboardingStore
internal import Pages
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import Values

/// `parley.onboarding.v1.OnboardingAdminService`: what operators see and set going again.
struct OnboardingAdminHandlers: OnboardingAdminService.Handlers {
  let submissions: SubmissionStore
  let recordings: RecordingStore
  let identities: IdentityStore
  let voices: VoiceStore
  let works: WorkStore
  let unfinished: UnfinishedStore
  let watch: SubmissionWatch
  let steps: StepCatalogues
  let jobs: any JobEngine
  let pages: PageKeyStore
  let log: Logger
  let now: @Sendable () -> Instant

  func inspectOnboarding(_ request: InspectOnboardingRequest, _ call: CallContext) async throws -> InspectOnboardingResponse {
    let user = try Self.user(request.userID)
    return try await refusing {
      guard let kept = try await submissions.newest(of: user) else { throw OnboardingRefusal.noSubmission }
      let facts = IdentityCatalogue.known(try await identities.facts(of: user), steps)
      let sources = Dictionary(grouping: facts, by: { IdentityField($0).source.rawValue })
      return .init(
        submission: try await watch.message(kept),
        recordings: try await recordings.recordings(of: user).map { VoiceClip($0, withWords: false) },
        fieldsExtracted: Int32(facts.count), voice: Voice(try await voices.voice(of: user)),
        sources: sources.sorted { $0.key < $1.key }.map { .init(source: .init(rawValue: $0.key), fields: Int32($0.value.count)) },
        roundsLeft: Int32(max(0, RetryPlan.pauses.count - kept.round)))
    }
  }

  /// The most people on a page, and how many there are where the caller does not say.
  private static let page = (most: 200, usual: 50)

  func listUnfinished(_ request: ListUnfinishedRequest, _ call: CallContext) async throws -> ListUnfinishedResponse {
    try await refusing {
      guard (0...Self.page.most).contains(Int(request.pageSize)) else {
        throw OnboardingRefusal.invalid(field: "page_size", "0 to \(Self.page.most)")
      }
      let size = request.pageSize == 0 ? Self.page.usual : Int(request.pageSize)
      let tokens = try await pages.tokens()
      let after = tokens.open(request.pageToken, in: call.method.path).flatMap { UUID(bytes: $0) }
      guard after != nil || request.pageToken.isEmpty else {
        throw OnboardingRefusal.invalid(field: "page_token", "one that was handed out, or empty")
      }
      // One more than is wanted tells whether there is another page.
      let found = try await unfinished.people(after: after, limit: size + 1, but: Self.lasting)
      let people = Array(found.prefix(size))
      let parts = Dictionary(grouping: try await unfinished.parts(of: people, but: Self.lasting), by: \.user)
      return .init(
        people: people.map { user in
          UnfinishedOnboarding(
            userID: user.description,
            parts: (parts[user] ?? []).map {
              UnfinishedPart(part: $0.name, reason: $0.reason, count: Int32(clamping: $0.count), since: .init($0.since))
            })
        }, nextPageToken: found.count > size ? people.last.map { tokens.seal($0.bytes, in: call.method.path) } ?? "" : "")
    }
  }

  /// What no trying again makes good: the person would have to say something else.
  private static let lasting = RecordingDamage.words.union(SubmissionPipeline.lastingVoiceFailures).union([
    SubmissionPipeline.noData
  ])

  func retryTranscription(
    _ request: RetryTranscriptionRequest, _ call: CallContext
  ) async throws -> RetryTranscriptionResponse {
    let user = try Self.user(request.userID)
    return .init(recordings: Int32(try await retryTranscription(of: user, silentToo: request.silentToo)))
  }

  func retryIdentityExtraction(
    _ request: RetryIdentityExtractionRequest, _ call: CallContext
  ) async throws -> RetryIdentityExtractionResponse {
    guard let isNew = try await retryExtraction(of: try Self.user(request.userID)) else {
      throw OnboardingRefusal.nothingToRetry("the answers are understood").rpcError
    }
    return .init(isNew: isNew)
  }

  func retryVoiceClone(_ request: RetryVoiceCloneRequest, _ call: CallContext) async throws -> RetryVoiceCloneResponse {
    let user = try Self.user(request.userID)
    return try await refusing {
      try await submissions.entering(user) { transaction in
        guard let voice = try await voices.voice(of: user, on: transaction), voice.consentedAt != nil else {
          throw OnboardingRefusal.noConsent
        }
        // One that could not be made anew left the one before.
        guard voice.state != .ready || !voice.failure.isEmpty else { throw OnboardingRefusal.nothingToRetry("there is a voice") }
        try await voices.begin(of: user, recloning: false, at: now(), in: transaction)
        return .init(isNew: try await jobs.enqueue(try OnboardingJobs.clone(of: user), in: transaction).isNew)
      }
    }
  }

  // MARK: Also by plain HTTP

  /// - Returns: How many recordings are written down again.
  func retryTranscription(of user: UUID, silentToo: Bool) async throws -> Int {
    try await again(of: user) { transaction in
      _ = try await jobs.enqueue(try await recordings.storing(of: user, on: transaction), in: transaction)
      return try await recordings.reopen(
        of: user, [.pending, .failed] + (silentToo ? [.noSpeech, .tooShort] : []), damagedToo: true, at: now(), in: transaction)
    }?.count ?? 0
  }

  /// - Returns: Whether it was not being done already; nil where the newest extraction succeeded.
  func retryExtraction(of user: UUID) async throws -> Bool? {
    try await again(of: user) { transaction in try await identities.reopen(of: user, at: now(), in: transaction) ? 1 : 0 }?.isNew
  }

  /// - Returns: How much is tried again, and whether it was not being done already; nil where there is nothing.
  private func again(
    of user: UUID, _ change: (Transaction) async throws -> Int
  ) async throws -> (count: Int, isNew: Bool)? {
    try await refusing {
      try await submissions.entering(user) { transaction in
        guard let newest = try await submissions.newest(of: user, on: transaction) else { throw OnboardingRefusal.noSubmission }
        guard newest.doneAt != nil else { throw OnboardingRefusal.running(submission: newest.id.description) }
        let count = try await change(transaction)
        guard count > 0 else { return nil }
        let order = OnboardingJobs.Order(user: user, submission: newest.id, round: OnboardingJobs.operatorsRound)
        var job = try OnboardingJobs.process.job(order, uniqueKey: "\(newest.id)/operator", user: user)
        var made = try await jobs.enqueue(job, in: transaction)
        if !made.isNew, try await works.holder(of: user, in: transaction)?.job == made.id {
          // It is at work, perhaps past what was just opened: another one follows it.
          job.uniqueKey = "\(newest.id)/operator/\(made.id)"
          made = try await jobs.enqueue(job, in: transaction)
        }
        log.info("an operator has onboarding tried again", metadata: ["user": "\(user)", "submission": "\(newest.id)"])
        return (count, made.isNew)
      }
    }
  }

  private static func user(_ text: String) throws -> UUID {
    guard let user = UUID(text) else { throw OnboardingRefusal.invalid(field: "user_id", "a UUID").rpcError }
    return user
  }
}

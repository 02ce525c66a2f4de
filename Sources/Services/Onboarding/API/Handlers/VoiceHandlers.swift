internal import Blobs
internal import Jobs
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import Values

/// `parley.onboarding.v1.VoiceService`.
struct VoiceHandlers: VoiceService.Handlers {
  let voices: VoiceStore
  let recordings: RecordingStore
  let submissions: SubmissionStore
  let blobs: any BlobStore
  let jobs: any JobEngine
  let now: @Sendable () -> Instant

  func getVoice(_ request: GetVoiceRequest, _ call: CallContext) async throws -> GetVoiceResponse {
    .init(voice: try await voice(of: try call.caller.userID))
  }

  func giveVoiceConsent(_ request: GiveVoiceConsentRequest, _ call: CallContext) async throws -> GiveVoiceConsentResponse {
    let user = try call.caller.userID
    return try await refusing {
      try OnboardingRefusal.checkStatement(request.statement, field: "statement")
      try await submissions.entering(user) { transaction in
        try await voices.consent(to: request.statement, of: user, at: now(), in: transaction)
      }
      return .init(voice: try await voice(of: user))
    }
  }

  func withdrawVoiceConsent(
    _ request: WithdrawVoiceConsentRequest, _ call: CallContext
  ) async throws -> WithdrawVoiceConsentResponse {
    let user = try call.caller.userID
    return try await refusing {
      try await submissions.entering(user) { transaction in
        let left = try await voices.withdraw(of: user, at: now(), in: transaction)
        if left.toDelete { try await jobs.enqueue(try OnboardingJobs.deleteVoices(of: user), in: transaction) }
        if left.toFind { try await jobs.enqueue(try OnboardingJobs.findVoices(of: user), in: transaction) }
      }
      return .init(voice: try await voice(of: user))
    }
  }

  func cloneVoice(_ request: CloneVoiceRequest, _ call: CallContext) async throws -> CloneVoiceResponse {
    let caller = try call.caller
    return try await clone(for: caller.userID) { answer, transaction in
      try await call.keyedRequest?.keep(answer, in: transaction)
    }
  }

  /// As ``cloneVoice(_:_:)``, for whoever has been let in.
  func clone(
    for user: UUID, _ keep: (CloneVoiceResponse, Transaction) async throws -> Void = { _, _ in }
  ) async throws -> CloneVoiceResponse {
    try await refusing {
      try await submissions.entering(user) { transaction in
        guard let known = try await voices.voice(of: user, on: transaction), known.consentedAt != nil else {
          throw OnboardingRefusal.noConsent
        }
        let moment = now()
        if known.isAnew { try Self.mustBeOpen(last: known.reclonedAt, at: moment) }
        if known.state != .cloning {
          try await voices.begin(of: user, recloning: true, at: moment, in: transaction)
        }
        // Where one is being made this finds its job, unless that is lost.
        try await jobs.enqueue(try OnboardingJobs.clone(of: user), in: transaction)
        let answer = CloneVoiceResponse(voice: Voice(try await voices.voice(of: user, on: transaction)))
        try await keep(answer, transaction)
        return answer
      }
    }
  }

  private static func mustBeOpen(last: Instant?, at now: Instant) throws(OnboardingRefusal) {
    guard let last, !CloneAllowance.isOpen(last: last.description, now: now.description),
      let text = CloneAllowance.opening(after: last.description), let opening = InternetTime.parse(text)
    else { return }
    throw .cloneUsedUp(opening: text, wait: .seconds(opening.seconds - now.seconds) - .microseconds(now.microsecondOfSecond))
  }

  func listVoiceClips(_ request: ListVoiceClipsRequest, _ call: CallContext) async throws -> ListVoiceClipsResponse {
    try await clips(of: try call.caller.userID)
  }

  /// As ``listVoiceClips(_:_:)``, for whoever has been let in.
  func clips(of user: UUID) async throws -> ListVoiceClipsResponse {
    .init(
      clips: try await recordings.recordings(of: user).map { recording in
        var link: String?
        if recording.storedAt != nil, let key = BlobKey(owner: user, digest: recording.digest) {
          // A store of files makes no links.
          link = try? blobs.link(key, for: .download, lifetime: .seconds(900))
        }
        return VoiceClip(recording, url: link ?? RecordingDesk.path + recording.name, withWords: true)
      })
  }

  private func voice(of user: UUID) async throws -> Voice { Voice(try await voices.voice(of: user)) }
}

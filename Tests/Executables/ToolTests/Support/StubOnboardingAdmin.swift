import ParleyAPI
import RPC
import Synchronization
import WellKnown

/// What operators see of onboarding, and the identity of whoever asks, in this process.
final class StubOnboardingAdmin: OnboardingAdminService.Handlers, IdentityService.Handlers {
  /// What operators asked for.
  let asked = Mutex<[String]>([])

  private func note(_ call: CallContext, _ words: String...) {
    asked.withLock { $0.append(([call.method.name] + words + [call.peerIdentity?.name ?? "nobody"]).joined(separator: " ")) }
  }

  func inspectOnboarding(
    _ request: InspectOnboardingRequest, _ call: CallContext
  ) async throws -> InspectOnboardingResponse {
    note(call, request.userID)
    return .init(
      submission: .init(
        id: "submission-1", stage: .transcribing, percent: 80, done: 1, total: 2,
        warnings: [.init(step: 5, reason: "transcription_failed", message: "step 5\u{1b}[31m was not heard")]),
      recordings: [.init(id: "clip-1", stepID: 5, duration: .init(seconds: 8), transcriptionState: .failed, size: 3_000)],
      fieldsExtracted: 34, voice: .init(state: .failed, failure: "too_little_audio"),
      sources: [.init(source: .answer, fields: 20), .init(source: .model, fields: 14)], roundsLeft: 3)
  }

  func listUnfinished(_ request: ListUnfinishedRequest, _ call: CallContext) async throws -> ListUnfinishedResponse {
    note(call, request.pageToken)
    let isFirst = request.pageToken.isEmpty
    return .init(
      people: [
        .init(
          userID: isFirst ? "user-3" : "user-5",
          parts: [
            .init(part: "voice", reason: isFirst ? "quota_exceeded" : "timeout", count: 1, since: .init(seconds: 1_800_000_000))
          ])
      ], nextPageToken: isFirst ? "user-3" : "")
  }

  func retryTranscription(
    _ request: RetryTranscriptionRequest, _ call: CallContext
  ) async throws -> RetryTranscriptionResponse {
    note(call, request.userID, "\(request.silentToo)")
    return .init(recordings: request.silentToo ? 2 : 1)
  }

  func retryIdentityExtraction(
    _ request: RetryIdentityExtractionRequest, _ call: CallContext
  ) async throws -> RetryIdentityExtractionResponse {
    note(call, request.userID)
    return .init(isNew: true)
  }

  func retryVoiceClone(_ request: RetryVoiceCloneRequest, _ call: CallContext) async throws -> RetryVoiceCloneResponse {
    note(call, request.userID)
    return .init(isNew: false)
  }

  func getIdentity(_ request: GetIdentityRequest, _ call: CallContext) async throws -> GetIdentityResponse {
    .init(
      identity: .init(
        name: "Ana", summary: "Ana walks",
        fields: [.init(name: "war_cry", value: "Go\u{1b}[31m", source: .transcript, step: 35)]))
  }

  func correctIdentity(_ request: CorrectIdentityRequest, _ call: CallContext) async throws -> CorrectIdentityResponse {
    throw RPCError(.unimplemented, "not here")
  }
}

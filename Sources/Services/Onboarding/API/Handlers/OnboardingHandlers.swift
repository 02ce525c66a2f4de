internal import JOSE
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import RPC
internal import ServiceKit
internal import Values
internal import WellKnown

/// `parley.onboarding.v1.OnboardingService`.
struct OnboardingHandlers: ParleyAPI.OnboardingService.Handlers {
  let steps: ListedSteps
  let answers: AnswerDesk
  let uploads: UploadDesk
  let intake: SubmissionIntake
  let watch: SubmissionWatch
  let outcomes: SubmissionOutcomes
  let extraction: ExtractionDesk
  let transcription: TranscriptionDesk
  let defaultWait: Duration
  /// How long anybody is told of a submission by one stream, also without a deadline.
  private static let longestWatch = Duration.seconds(86_400)

  // MARK: Steps and answers

  func listSteps(_ request: ListStepsRequest, _ call: CallContext) async throws -> ListStepsResponse {
    try refusing { try steps.message(version: Int(request.version)) }
  }

  func saveAnswer(_ request: SaveAnswerRequest, _ call: CallContext) async throws -> SaveAnswerResponse {
    let user = try call.caller.userID
    return try await refusing {
      let kept = try await answers.save(request.answer, step: Int(request.step), of: user)
      return .init(answered: Int32(kept.answered), isSuperseded: kept.isSuperseded)
    }
  }

  func getProgress(_ request: GetProgressRequest, _ call: CallContext) async throws -> GetProgressResponse {
    let user = try call.caller.userID
    let progress = try await answers.progress(of: user)
    return .init(state: progress.state, submission: progress.submission)
  }

  func saveAnonymousProgress(
    _ request: SaveAnonymousProgressRequest, _ call: CallContext
  ) async throws -> SaveAnonymousProgressResponse {
    try await refusing {
      .init(expiresAt: .init(try await answers.saveAnonymous(request.state, under: request.progressKey)))
    }
  }

  func getAnonymousProgress(
    _ request: GetAnonymousProgressRequest, _ call: CallContext
  ) async throws -> GetAnonymousProgressResponse {
    try await refusing { .init(state: try await answers.anonymousState(under: request.progressKey)) }
  }

  func claimAnonymousProgress(
    _ request: ClaimAnonymousProgressRequest, _ call: CallContext
  ) async throws -> ClaimAnonymousProgressResponse {
    let user = try call.caller.userID
    return try await refusing { .init(answered: Int32(try await answers.claim(under: request.progressKey, for: user))) }
  }

  // MARK: Uploads

  func uploadRecording(
    _ requests: RequestStream<UploadRecordingRequest>, _ call: CallContext
  ) async throws -> UploadRecordingResponse {
    let user = try call.caller.userID
    return try await refusing { try await uploads.take(requests, of: user) }
  }

  func getUpload(_ request: GetUploadRequest, _ call: CallContext) async throws -> GetUploadResponse {
    let user = try call.caller.userID
    return try await refusing { try await uploads.progress(of: request.uploadID, user) }
  }

  // MARK: Submissions

  func complete(_ request: consuming CompleteRequest, _ call: CallContext) async throws -> CompleteResponse {
    let user = try call.caller.userID
    let accepted = try await accept(request, of: user)
    call.letGoOfRequest()
    return try await result(of: accepted, for: user)
  }

  /// A submission that is durable, and how long its sender waits for what comes of it.
  struct Accepted: Sendable {
    let submission: KeptSubmission
    let wait: Duration
  }

  /// Makes all answers of somebody who has been let in durable. What came is kept no longer than that takes: it may be 64 MiB.
  func accept(_ request: consuming CompleteRequest, of user: UUID) async throws -> Accepted {
    let wait = min(request.wait?.duration ?? defaultWait, .seconds(50))
    do { return Accepted(submission: try await intake.take(request, of: user), wait: wait) } catch let refusal
      as OnboardingRefusal
    { throw refusal.rpcError }
  }

  /// What came of it, or how far it is when its sender has waited long enough, which is before the deadline of the call.
  func result(of accepted: Accepted, for user: UUID) async throws -> CompleteResponse {
    try await refusing {
      try await watch.waitForEnd(of: accepted.submission, atMost: CallWait.time(atMost: accepted.wait))
      return try await outcomes.response(to: accepted.submission.id, of: user)
    }
  }

  func getSubmission(_ request: GetSubmissionRequest, _ call: CallContext) async throws -> GetSubmissionResponse {
    let user = try call.caller.userID
    return try await refusing {
      let submission = try await watch.current(request.submissionID, of: user)
      guard let id = UUID(submission.id) else { throw OnboardingRefusal.noSubmission }
      return .init(submission: submission, result: try await outcomes.response(to: id, of: user))
    }
  }

  func watchSubmission(
    _ request: WatchSubmissionRequest, _ responses: ResponseWriter<WatchSubmissionResponse>, _ call: CallContext
  ) async throws {
    let user = try call.caller.userID
    let time = CallWait.time(atMost: Self.longestWatch, until: call.deadline)
    try await refusing { try await watch.tell(request, of: user, atMost: time) { try await responses.write($0) } }
  }

  // MARK: Understanding

  func reExtract(_ request: ReExtractRequest, _ call: CallContext) async throws -> ReExtractResponse {
    try await reExtract(of: try call.caller.userID)
  }

  /// As ``reExtract(_:_:)``, for whoever has been let in.
  func reExtract(of user: UUID) async throws -> ReExtractResponse { try await refusing { try await extraction.again(of: user) } }

  func transcribe(_ request: TranscribeRequest, _ call: CallContext) async throws -> TranscribeResponse {
    _ = try call.caller
    return try await refusing { try await transcription.words(of: Array(request.audio), declared: request.contentType) }
  }
}

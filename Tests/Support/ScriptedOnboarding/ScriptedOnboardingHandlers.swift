import MessagesCore
import ParleyAPI
import RPC
import WellKnown

/// The calls of a ``ScriptedOnboarding``.
struct ScriptedOnboardingHandlers: OnboardingService.Handlers {
  let script: ScriptedOnboarding

  private var state: ScriptedOnboarding.State { script.state }
  private func change(_ body: (inout ScriptedOnboarding.State) -> Void) { script.change(body) }

  func listSteps(_ request: ListStepsRequest, _ call: CallContext) async throws -> ListStepsResponse {
    try script.enter("ListSteps", call, isPublic: true)
    return .init(version: 3, steps: ScriptedOnboarding.steps)
  }

  func getUpload(_ request: GetUploadRequest, _ call: CallContext) async throws -> GetUploadResponse {
    try script.enter("GetUpload", call)
    guard let upload = state.uploads[request.uploadID] else { throw ScriptedOnboarding.refusal(.notFound, "UPLOAD_NOT_FOUND") }
    return .init(offset: Int64(upload.bytes.count), isComplete: upload.isComplete)
  }

  func uploadRecording(
    _ requests: RequestStream<UploadRecordingRequest>, _ call: CallContext
  ) async throws -> UploadRecordingResponse {
    try script.enter("UploadRecording", call)
    var requests = requests
    guard let first = try await requests.next(), let head = first.head else {
      throw ScriptedOnboarding.refusal(.invalidArgument, "NO_HEAD")
    }
    let arrived = state.uploads[head.uploadID]?.bytes.count ?? 0
    change { $0.offsets.append(head.offset) }
    guard Int(head.offset) == arrived else { throw ScriptedOnboarding.refusal(.outOfRange, "WRONG_OFFSET") }
    var limit = Int.max
    change { if !$0.uploadBreaks.isEmpty { limit = $0.uploadBreaks.removeFirst() } }
    var next: UploadRecordingRequest? = first
    while let message = next {
      let part = message.data.prefix(limit)
      change { $0.uploads[head.uploadID, default: ScriptedOnboarding.Upload(head: head)].bytes += Array(part) }
      limit -= part.count
      if limit == 0 { throw RPCError(.unavailable, "the connection broke") }
      next = try await requests.next()
    }
    guard let upload = state.uploads[head.uploadID], upload.isComplete else {
      throw ScriptedOnboarding.refusal(.invalidArgument, "INCOMPLETE")
    }
    return .init(reference: "recording:\(head.uploadID)", size: head.size)
  }

  func complete(_ request: CompleteRequest, _ call: CallContext) async throws -> CompleteResponse {
    try script.enter("Complete", call, needsSubscription: true)
    change { $0.completes.append(request) }
    try await state.completeHold?()
    let answers = request.state?.responses ?? [:]
    let texts = answers.values.compactMap { answer -> String? in
      if case .stringValue(let text)? = answer.value?.kind { text } else { nil }
    }
    guard texts.reduce(0, { $0 + $1.utf8.count }) <= state.maximumTextBytes else {
      throw ScriptedOnboarding.refusal(.resourceExhausted, "REQUEST_TOO_LARGE")
    }
    for text in texts where text.hasPrefix("recording:") {
      guard state.uploads[String(text.dropFirst("recording:".utf8.count))]?.isComplete == true else {
        throw ScriptedOnboarding.refusal(.invalidArgument, "RECORDING_UNKNOWN")
      }
    }
    var isLost = false
    change { state in
      state.taken[request.idempotencyKey] = state.taken[request.idempotencyKey] ?? request
      isLost = state.lostAnswers > 0
      if isLost { state.lostAnswers -= 1 }
    }
    if isLost { throw RPCError(.unavailable, "the connection broke") }
    return answer(to: request, state.events.first ?? .init())
  }

  private func answer(to request: CompleteRequest, _ submission: Submission) -> CompleteResponse {
    let answers = request.state?.responses.values.map { $0 } ?? []
    let isDone = submission.stage == .done
    return CompleteResponse(
      success: true, message: "taken", completedAt: .init(seconds: 1_767_326_645), totalSteps: Int32(answers.count),
      filesProcessed: Int32(answers.filter { $0.type == "voice" }.count),
      identityExtraction: isDone
        ? .init(success: true, fieldsExtracted: 60, voiceTranscribed: 8) : .init(success: false, error: "in_progress"),
      jobID: submission.id, voiceClone: .init(success: isDone, voiceID: isDone ? "voice-1" : nil), submission: submission)
  }

  func getSubmission(_ request: GetSubmissionRequest, _ call: CallContext) async throws -> GetSubmissionResponse {
    try script.enter("GetSubmission", call)
    let now = state
    guard let taken = now.taken.values.first, let last = now.standing ?? now.events.last else {
      throw ScriptedOnboarding.refusal(.notFound, "SUBMISSION_NOT_FOUND")
    }
    return .init(submission: last, result: now.tellsResult ? answer(to: taken, last) : nil)
  }

  func watchSubmission(
    _ request: WatchSubmissionRequest, _ responses: ResponseWriter<WatchSubmissionResponse>, _ call: CallContext
  ) async throws {
    try script.enter("WatchSubmission", call)
    var end: ScriptedOnboarding.State.WatchEnd?
    change { state in
      state.watches.append(request.after)
      if !state.watchEnds.isEmpty { end = state.watchEnds.removeFirst() }
    }
    guard !state.taken.isEmpty else { throw ScriptedOnboarding.refusal(.notFound, "SUBMISSION_NOT_FOUND") }
    guard request.after.isEmpty || request.after.hasPrefix("1:") else {
      throw ScriptedOnboarding.refusal(.outOfRange, "POSITION_UNKNOWN")
    }
    let behind = Int(request.after.dropFirst(2)) ?? 0
    let events = state.events.enumerated().dropFirst(behind)
    for (index, event) in events.prefix(end?.events ?? .max) {
      try await state.holds[index + 1]?()
      try await responses.write(.init(submission: event))
    }
    if end?.isBroken == true { throw RPCError(.unavailable, "the connection broke") }
  }

  func getProgress(_ request: GetProgressRequest, _ call: CallContext) async throws -> GetProgressResponse {
    try script.enter("GetProgress", call)
    let now = state
    return .init(state: now.taken.values.first?.state, submission: now.taken.isEmpty ? nil : now.events.last)
  }

  func saveAnswer(_ request: SaveAnswerRequest, _ call: CallContext) async throws -> SaveAnswerResponse {
    throw RPCError(.unimplemented, "not here")
  }

  func saveAnonymousProgress(
    _ request: SaveAnonymousProgressRequest, _ call: CallContext
  ) async throws -> SaveAnonymousProgressResponse {
    throw RPCError(.unimplemented, "not here")
  }

  func getAnonymousProgress(
    _ request: GetAnonymousProgressRequest, _ call: CallContext
  ) async throws -> GetAnonymousProgressResponse {
    throw RPCError(.unimplemented, "not here")
  }

  func claimAnonymousProgress(
    _ request: ClaimAnonymousProgressRequest, _ call: CallContext
  ) async throws -> ClaimAnonymousProgressResponse {
    throw RPCError(.unimplemented, "not here")
  }

  func reExtract(_ request: ReExtractRequest, _ call: CallContext) async throws -> ReExtractResponse {
    throw RPCError(.unimplemented, "not here")
  }

  func transcribe(_ request: TranscribeRequest, _ call: CallContext) async throws -> TranscribeResponse {
    throw RPCError(.unimplemented, "not here")
  }
}

internal import Audio
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL

/// Makes what came durable: looks into recordings, and keeps their bytes with the answers they are.
struct AnswerKeeping: Sendable {
  let recordings: RecordingStore
  let quota: RecordingQuota
  let now: @Sendable () -> Timestamp

  /// An answer as it is kept, after its recording was; with what was wrong with that.
  ///
  /// A recording that cannot be taken stays as what it came as: nothing is lost, and somebody may look at it.
  func keep(
    _ looked: LookedAnswer, of user: UUID, in transaction: Transaction
  ) async throws -> (kept: KeptAnswer, warning: SubmissionWarning?) {
    let answer = looked.answer
    switch answer.content {
    case .none: return (KeptAnswer(answer, text: nil, recording: nil), nil)
    case .recording(let digest):
      guard try await recordings.recording(digest, of: user, on: transaction) != nil else {
        return refused(answer, AnswerContent.reference(digest), "audio_unknown_reference")
      }
      return (KeptAnswer(answer, text: nil, recording: digest), nil)
    case .text(let text), .dataURL(let text):
      switch looked.recording {
      case .success(let recording)?:
        try await add(recording, of: user, in: transaction)
        return (KeptAnswer(answer, text: nil, recording: recording.digest), nil)
      case .failure(let refusal)?: return refused(answer, text, refusal.word)
      case nil: return (KeptAnswer(answer, text: text, recording: nil), nil)
      }
    }
  }

  /// Keeps a recording, once for each content.
  func add(_ recording: SpokenRecording, of user: UUID, in transaction: Transaction) async throws {
    // Of what is there already its bytes are too, unless they are lost.
    if let known = try await recordings.recording(recording.digest, of: user, on: transaction), !known.isLost { return }
    try await quota.mustTake(Int64(recording.bytes.count), of: user, in: transaction)
    let stage = UUID.v7(at: now())
    var start = 0
    while start < recording.bytes.count {
      let end = min(start + SubmissionLimits.piece, recording.bytes.count)
      try await recordings.stage(Array(recording.bytes[start..<end]), at: Int64(start), in: stage, of: user, transaction)
      start = end
    }
    try await recordings.add(
      recording.digest, size: Int64(recording.bytes.count), format: recording.format.rawValue,
      mediaType: recording.format.mediaType, stage: stage, of: user, at: now(), in: transaction)
  }

  private func refused(
    _ answer: ReceivedAnswer, _ text: String, _ word: String
  ) -> (kept: KeptAnswer, warning: SubmissionWarning?) {
    (
      KeptAnswer(answer, text: text, recording: nil),
      SubmissionWarning(step: answer.step, word, "step \(answer.step): the recording could not be read")
    )
  }
}

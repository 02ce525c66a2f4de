internal import Audio
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

/// Makes what came durable: keeps the bytes of recordings with the answers they are, all of them at once.
struct AnswerKeeping: Sendable {
  let recordings: RecordingStore
  let now: @Sendable () -> Instant

  /// What has to be known of a person before answers are kept, and where it is among the answers of a batch.
  struct Asked: Sendable {
    fileprivate let known: Int
    fileprivate let quota: RecordingQuota.Asked
  }

  /// Answers as they are kept.
  struct Outcome: Sendable {
    /// In the order in which they came.
    var kept: [KeptAnswer] = []
    /// What was wrong with recordings.
    var warnings: [SubmissionWarning] = []
    /// Whether the object store has one of the recordings not yet.
    var isUnstored = false
  }

  /// Asks for what has to be known before answers are kept, under the person's lock.
  func ask(for answers: [LookedAnswer], of user: UUID, in batch: inout Batch) -> Asked {
    Asked(
      known: batch.add(RecordingStore.known(Array(Set(answers.compactMap(\.digest))), of: user)),
      quota: RecordingQuota.ask(of: user, in: &batch))
  }

  /// Answers as they are kept, after their recordings were: those travel with the next statement of the transaction, but for large ones.
  ///
  /// A recording that cannot be taken stays as what it came as: nothing is lost, and somebody may look at it.
  ///
  /// - Throws: ``OnboardingRefusal/overQuota(_:)``, and the database's error.
  func keep(
    _ answers: [LookedAnswer], of user: UUID, knowing asked: Asked, _ found: BatchResults, in transaction: Transaction
  ) async throws -> Outcome {
    var known: [[UInt8]: KnownRecording] = [:]
    for recording in try found.rows(of: asked.known, as: KnownRecording.self) { known[recording.digest] = recording }
    // Of what is there already its bytes are too, unless they are lost. One that is lost counts already.
    var (new, bytes): ([[UInt8]: SpokenRecording], Int64) = ([:], 0)
    for case .success(let recording)? in answers.map(\.recording) where known[recording.digest]?.isLost != false {
      guard new.updateValue(recording, forKey: recording.digest) == nil, known[recording.digest] == nil else { continue }
      bytes += Int64(recording.bytes.count)
    }
    if bytes > 0 { try RecordingQuota(asked.quota, in: found).mustTake(bytes) }
    try await add(Array(new.values), of: user, in: transaction)
    var outcome = Outcome()
    for looked in answers {
      let (kept, word) = Self.kept(looked) { known[$0] != nil || new[$0] != nil }
      outcome.kept.append(kept)
      if let word {
        let step = looked.answer.step
        outcome.warnings.append(SubmissionWarning(step: step, word, "step \(step): the recording could not be read"))
      }
      if let digest = kept.recording, new[digest] != nil || known[digest]?.isStored == false { outcome.isUnstored = true }
    }
    return outcome
  }

  /// How many bytes travel together at most, but for one recording: they are in memory once more meanwhile.
  private static let together = 1 << 20

  /// Keeps recordings that are not there.
  private func add(_ new: [SpokenRecording], of user: UUID, in transaction: Transaction) async throws {
    var (pieces, bytes): ([StagedPiece], Int) = ([], 0)
    var staged: [StagedRecording] = []
    for recording in new {
      let stage = UUID.v7(at: now())
      for start in stride(from: 0, to: recording.bytes.count, by: SubmissionLimits.piece) {
        let end = min(start + SubmissionLimits.piece, recording.bytes.count)
        if bytes + end - start > Self.together, !pieces.isEmpty {
          recordings.stage(pieces, of: user, transaction)
          try await transaction.executeAll([])
          (pieces, bytes) = ([], 0)
        }
        pieces.append(StagedPiece(stage: stage, start: Int64(start), data: Array(recording.bytes[start..<end])))
        bytes += end - start
      }
      staged.append(
        StagedRecording(
          digest: recording.digest, size: Int64(recording.bytes.count), format: recording.format.rawValue,
          mediaType: recording.format.mediaType, stage: stage))
    }
    recordings.stage(pieces, of: user, transaction)
    recordings.add(staged, of: user, at: now(), in: transaction)
  }

  /// An answer as it is kept, and what is wrong with its recording, in a word.
  private static func kept(_ looked: LookedAnswer, isThere: ([UInt8]) -> Bool) -> (KeptAnswer, String?) {
    let answer = looked.answer
    switch answer.content {
    case .none: return (KeptAnswer(answer, text: nil, recording: nil), nil)
    case .recording(let digest):
      guard isThere(digest) else {
        return (KeptAnswer(answer, text: AnswerContent.reference(digest), recording: nil), "audio_unknown_reference")
      }
      return (KeptAnswer(answer, text: nil, recording: digest), nil)
    case .text(let text), .dataURL(let text):
      switch looked.recording {
      case .success(let recording)?: return (KeptAnswer(answer, text: nil, recording: recording.digest), nil)
      case .failure(let refusal)?: return (KeptAnswer(answer, text: text, recording: nil), refusal.word)
      case nil: return (KeptAnswer(answer, text: text, recording: nil), nil)
      }
    }
  }
}

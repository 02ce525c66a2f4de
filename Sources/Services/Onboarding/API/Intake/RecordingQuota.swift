internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

/// How much a person may have sent: recordings, wherever they are and whether an answer refers to them or not, and what is on its way.
struct RecordingQuota: Sendable {
  /// Where it is among the answers of a batch.
  struct Asked: Sendable {
    fileprivate let open: Int
    fileprivate let bytes: Int
  }

  /// Asks for what the quota goes by, under the person's lock.
  static func ask(of user: UUID, in batch: inout Batch) -> Asked {
    Asked(open: batch.add(UploadStore.open(of: user)), bytes: batch.add(RecordingStore.bytes(of: user)))
  }

  private let open: UploadStore.Open?
  private let bytes: Int64

  /// What a person had when the transaction took the lock.
  init(_ asked: Asked, in answers: BatchResults) throws(DatabaseError) {
    open = try answers.row(of: asked.open)
    bytes = try answers.value(of: asked.bytes) ?? 0
  }

  /// Whether so many bytes more may come.
  ///
  /// - Throws: ``OnboardingRefusal/overQuota(_:)``.
  func mustTake(_ more: Int64) throws(OnboardingRefusal) {
    guard (open?.bytes ?? 0) + bytes + more <= SubmissionLimits.recordingBytes else {
      throw .overQuota(
        "at most \(SubmissionLimits.recordingBytes) bytes of recordings, those among them that no answer refers to any more")
    }
  }

  /// Whether another upload may begin, of so many bytes.
  ///
  /// - Throws: ``OnboardingRefusal/overQuota(_:)``.
  func mustBegin(_ more: Int64) throws(OnboardingRefusal) {
    guard (open?.open ?? 0) < SubmissionLimits.openUploads, (open?.uploads ?? 0) < SubmissionLimits.uploads else {
      throw .overQuota(
        "at most \(SubmissionLimits.openUploads) uploads are under way, and \(SubmissionLimits.uploads) known")
    }
    try mustTake(more)
  }
}

internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL

/// How much a person may have in the database that is no answer: what was sent and replaced, and what is on its way.
struct RecordingQuota: Sendable {
  let recordings: RecordingStore
  let uploads: UploadStore

  /// Whether another recording may come. The transaction has the person's lock.
  ///
  /// - Throws: ``OnboardingRefusal/overQuota(_:)``.
  func mustTake(_ bytes: Int64, of user: UUID, in transaction: Transaction) async throws {
    let open = try await uploads.open(of: user, on: transaction)
    try await mustTake(bytes, beside: open, of: user, in: transaction)
  }

  /// Whether another upload may begin. The transaction has the person's lock.
  ///
  /// - Throws: ``OnboardingRefusal/overQuota(_:)``.
  func mustBegin(_ bytes: Int64, of user: UUID, in transaction: Transaction) async throws {
    let open = try await uploads.open(of: user, on: transaction)
    guard open.open < SubmissionLimits.openUploads, open.uploads < SubmissionLimits.uploads else {
      throw OnboardingRefusal.overQuota(
        "at most \(SubmissionLimits.openUploads) uploads are under way, and \(SubmissionLimits.uploads) known")
    }
    try await mustTake(bytes, beside: open, of: user, in: transaction)
  }

  private func mustTake(_ bytes: Int64, beside open: UploadStore.Open, of user: UUID, in transaction: Transaction) async throws {
    let unreferred = try await recordings.unreferred(of: user, on: transaction)
    guard open.bytes + unreferred + bytes <= SubmissionLimits.unreferredBytes else {
      throw OnboardingRefusal.overQuota(
        "at most \(SubmissionLimits.unreferredBytes) bytes of recordings wait that no answer refers to")
    }
  }
}

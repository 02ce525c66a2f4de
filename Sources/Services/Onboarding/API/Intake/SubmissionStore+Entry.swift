internal import OnboardingStore
internal import PostgreSQL

extension SubmissionStore {
  /// As ``OnboardingStore/SubmissionStore/lock(_:in:)``, for whoever is about to write for a person.
  ///
  /// - Throws: ``OnboardingRefusal/departed`` where the account is deleted, or the database's error.
  func enter(_ user: UUID, in transaction: Transaction) async throws {
    try await lock(user, in: transaction)
    guard try await departure(of: user, on: transaction) == nil else { throw OnboardingRefusal.departed }
  }
}

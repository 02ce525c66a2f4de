internal import OnboardingStore
internal import PostgreSQL

extension SubmissionStore {
  /// As ``OnboardingStore/SubmissionStore/locked(_:_:)``, for whoever is about to write for a person.
  ///
  /// - Throws: ``OnboardingRefusal/busy`` where the person's lock cannot be had soon, ``OnboardingRefusal/departed`` where the account is
  ///   deleted, the database's error, and what `body` throws.
  func entering<Value>(_ user: UUID, _ body: (Transaction) async throws -> Value) async throws -> Value {
    do {
      return try await locked(user) { transaction in
        guard try await departure(of: user, on: transaction) == nil else { throw OnboardingRefusal.departed }
        return try await body(transaction)
      }
    } catch is PersonIsBusy {
      throw OnboardingRefusal.busy
    }
  }
}

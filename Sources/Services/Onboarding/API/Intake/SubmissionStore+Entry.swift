internal import OnboardingStore
internal import PostgreSQL

extension SubmissionStore {
  /// As ``OnboardingStore/SubmissionStore/locked(_:_:)``, for whoever is about to write for a person.
  ///
  /// - Throws: ``OnboardingRefusal/busy`` where the person's lock cannot be had soon, ``OnboardingRefusal/departed`` where the account is
  ///   deleted, the database's error, and what `body` throws.
  func entering<Value>(_ user: UUID, _ body: (Transaction) async throws -> Value) async throws -> Value {
    do {
      // Behind the turn comes the wait for the lock, of a second.
      let longest = CallWait.time(atMost: .seconds(10), leaving: .seconds(1) + CallWait.answer)
      return try await locked(user, atMost: longest) { transaction in
        guard try await departure(of: user, on: transaction) == nil else { throw OnboardingRefusal.departed }
        return try await body(transaction)
      }
    } catch is PersonIsBusy {
      throw OnboardingRefusal.busy
    }
  }
}

internal import OnboardingStore
internal import PostgreSQL
internal import ServiceKit
internal import Values

extension SubmissionStore {
  /// As ``OnboardingStore/SubmissionStore/locked(_:_:)``, for whoever is about to write for a person.
  ///
  /// - Throws: ``OnboardingRefusal/busy`` where the person's lock cannot be had soon, ``OnboardingRefusal/departed`` where the account is
  ///   deleted, the database's error, and what `body` throws.
  func entering<Value>(_ user: UUID, _ body: (Transaction) async throws -> Value) async throws -> Value {
    try await entering(user, asking: { _ in }) { transaction, _, _ in try await body(transaction) }
  }

  /// As ``entering(_:_:)``, with what has to be known first: it is asked in the same round trip
  /// (``OnboardingStore/SubmissionStore/locked(_:asking:_:)``).
  func entering<Asked, Value>(
    _ user: UUID, asking questions: (inout Batch) -> Asked, _ body: (Transaction, Asked, BatchResults) async throws -> Value
  ) async throws -> Value {
    do {
      // Behind the turn comes the wait for the lock, of a second.
      let longest = CallWait.time(atMost: .seconds(10), leaving: .seconds(1) + CallWait.answer)
      return try await locked(
        user, atMost: longest, asking: { (departure: $0.add(Self.departure(of: user)), more: questions(&$0)) }
      ) { transaction, asked, answers in
        guard try answers.value(of: asked.departure, as: Instant.self) == nil else { throw OnboardingRefusal.departed }
        return try await body(transaction, asked.more, answers)
      }
    } catch is PersonIsBusy {
      throw OnboardingRefusal.busy
    }
  }
}

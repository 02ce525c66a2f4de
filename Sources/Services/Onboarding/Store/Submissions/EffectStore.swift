public import PostgreSQL
public import Values

/// The ledger of what is done outside this service once for a person, whatever is submitted later and however long ago it was.
public struct EffectStore: Sendable {
  /// Effects of a database.
  public init() {}

  /// What is done once.
  public enum Effect: String, Sendable, Hashable, CaseIterable {
    /// The first call, by which a person sees how it goes.
    case demoCall = "calls.demo"
  }

  /// Enters an effect with the transaction that has it.
  ///
  /// - Returns: Whether it was not there before: then it is to be had now.
  public func enter(
    _ effect: Effect, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    try await transaction.execute(
      """
      insert into onboarding.effect (user_id, name, at) values (\(user), \(effect.rawValue), \(now)) on conflict do nothing
      """) == 1
  }
}

public import AuthDomain
public import PostgreSQL
public import Values

/// The accounts that RevenueCat is still to be asked about: durable, so that a restart forgets none, and shared by all copies.
public struct RereadQueue: Sendable {
  /// One account whose turn it is.
  public struct Turn: Sendable, Hashable {
    /// The account.
    public let user: UserID
    /// The linked customer, or nil.
    public let customer: CustomerID?
    /// How many attempts there have been, this one included.
    public let attempts: Int
  }

  private let database: Database

  /// The queue in `database`.
  public init(_ database: Database) { self.database = database }

  /// Takes the turns that are due, for as long as `lease`: whoever takes one and dies leaves it to be taken again after that.
  public func claim(atMost limit: Int, for lease: Duration, at now: Instant) async throws(DatabaseError) -> [Turn] {
    let rows: [(UUID, String?, Int32)] = try await database.rows(
      """
      update auth.entitlement set reread_due_at = \(now.advanced(by: lease)), reread_attempts = reread_attempts + 1
      where user_id in (
        select user_id from auth.entitlement where reread_due_at <= \(now) order by reread_due_at
        limit \(Int64(limit)) for update skip locked)
      returning user_id, customer_id, reread_attempts
      """)
    return rows.map { Turn(user: UserID($0), customer: $1.flatMap { CustomerID($0) }, attempts: Int($2)) }
  }

  /// Puts an account's turn off that was not used: it counts as no attempt.
  public func giveBack(_ user: UserID, until moment: Instant) async throws(DatabaseError) {
    try await database.execute(
      """
      update auth.entitlement set reread_due_at = \(moment), reread_attempts = greatest(0, reread_attempts - 1)
      where user_id = \(UUID(user)) and reread_due_at is not null
      """)
  }

  /// Puts an account's turn off.
  public func postpone(_ user: UserID, until moment: Instant) async throws(DatabaseError) {
    try await database.execute(
      """
      update auth.entitlement set reread_due_at = \(moment)
      where user_id = \(UUID(user)) and reread_due_at is not null
      """)
  }
}

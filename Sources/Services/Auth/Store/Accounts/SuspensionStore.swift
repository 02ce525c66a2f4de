public import AuthDomain
public import PostgreSQL
public import Values

/// Accounts that operators close and open again. What is done, what follows for the sessions and who did it are one transaction.
public struct SuspensionStore: Sendable {
  private let database: Database
  private let sessions: SessionStore
  private let patience: Duration

  /// Suspensions in `database`.
  ///
  /// - Parameters:
  ///   - database: Where they are.
  ///   - sessions: The sessions that end with them.
  ///   - patience: How long a transaction may take.
  public init(_ database: Database, sessions: SessionStore, patience: Duration = .seconds(5)) {
    self.database = database
    self.sessions = sessions
    self.patience = patience
  }

  /// Lets nobody sign in to an account, and ends its sessions. Where it is suspended already, for the same reason, only sessions are
  /// looked for.
  ///
  /// - Parameters:
  ///   - user: The account.
  ///   - now: The time.
  ///   - client: The operator; the note is the reason.
  /// - Returns: The sessions that this call has ended; nil when there is no account.
  public func suspend(
    _ user: UserID, at now: Instant, by client: SessionStore.Client
  ) async throws(DatabaseError) -> [SessionRecord]? {
    try await database.settle(within: patience) { transaction in
      // First the account: a sign-in that is under way has locked it, and has made its session when this goes on.
      guard let state = try await Self.locked(user, transaction) else { return nil }
      if state.reason != client.note {
        for query in [
          """
          update auth.account set
            suspended_at = coalesce(suspended_at, \(now)), suspended_by = \(client.actor),
            suspension_reason = \(client.note)
          where user_id = \(UUID(user))
          """, ActivityStore.insert(Self.entry(user, state.app, .accountSuspended, at: now, client)),
        ] as [Query] { transaction.add(query) }
      }
      return try await sessions.end(.all, of: user, .revokedByOperator, at: now, for: client, on: transaction)
    }
  }

  /// Lets a person sign in again. An account that is open stays as it is.
  ///
  /// - Parameters:
  ///   - user: The account.
  ///   - now: The time.
  ///   - client: The operator; the note is the reason.
  /// - Returns: Whether there is such an account.
  public func reinstate(_ user: UserID, at now: Instant, by client: SessionStore.Client) async throws(DatabaseError) -> Bool {
    try await database.settle(within: patience) { transaction in
      guard let state = try await Self.locked(user, transaction) else { return false }
      guard state.reason != nil else { return true }
      for query in [
        """
        update auth.account set suspended_at = null, suspended_by = null, suspension_reason = null where user_id = \(UUID(user))
        """, ActivityStore.insert(Self.entry(user, state.app, .accountReinstated, at: now, client)),
      ] as [Query] { transaction.add(query) }
      return true
    }
  }

  /// The app and, where it is suspended, why.
  private static func locked(
    _ user: UserID, _ transaction: Transaction
  ) async throws(DatabaseError) -> (app: String, reason: String?)? {
    let row: (String, String?)? = try await transaction.row(
      """
      select app, case when suspended_at is not null then coalesce(suspension_reason, '') end
      from auth.account where user_id = \(UUID(user)) for no key update
      """)
    return row.map { (app: $0.0, reason: $0.1) }
  }

  private static func entry(
    _ user: UserID, _ app: String, _ action: Activity.Action, at now: Instant, _ client: SessionStore.Client
  ) -> Activity {
    Activity(
      user: user, app: app, at: now, action: action, address: client.address, requestID: client.requestID, actor: client.actor,
      note: client.note)
  }
}

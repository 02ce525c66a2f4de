public import AuthDomain
internal import EventLoop
public import PostgreSQL
internal import Values

/// People's accounts.
public struct AccountStore: Sendable {
  private let database: Database
  private let patience: Duration

  /// The accounts in `database`; a transaction may take `patience`.
  public init(_ database: Database, patience: Duration = .seconds(5)) {
    self.database = database
    self.patience = patience
  }

  /// An account, or nil when there is none.
  public func account(_ user: UserID) async throws(DatabaseError) -> Account? {
    guard let row: AccountRow = try await database.reads.row(AccountRow.select(user)) else { return nil }
    return row.account
  }

  /// Whether an operator lets nobody sign in to an account.
  public func isSuspended(_ user: UserID) async throws(DatabaseError) -> Bool {
    try await database.reads.value(
      "select exists (select from auth.account where user_id = \(UUID(user)) and suspended_at is not null)") ?? false
  }

  /// Gives a person another name, and says so in the account's activity.
  ///
  /// - Returns: The account, or nil when there is none.
  public func rename(_ user: UserID, to name: String, noting activity: Activity) async throws(DatabaseError) -> Account? {
    try await database.settle(within: patience) { transaction in
      let renamed: AccountRow? = try await transaction.row(
        """
        update auth.account set name = \(name) where user_id = \(UUID(user)) returning \(part: AccountRow.columns)
        """)
      guard let renamed else { return nil }
      transaction.add(ActivityStore.insert(activity))
      return renamed.account
    }
  }

  /// Whose account a provider's subject is.
  public func user(_ subject: String, of provider: IdentityProvider, in app: String) async throws(DatabaseError) -> UserID? {
    let found: UUID? = try await database.reads.value(
      """
      select user_id from auth.identity_lookup where app = \(app) and provider = \(provider.rawValue) and subject = \(subject)
      """)
    return found.map { UserID($0) }
  }
}

/// A row of `auth.account`.
struct AccountRow: RowDecodable {
  static let columns: Query = """
    user_id, app, provider, name, email, email_is_verified, email_is_private, created_at, suspended_at is not null,
      deleting_at is not null
    """

  let account: Account
  let isSuspended: Bool
  let isDeleting: Bool

  init(_ row: Row) throws(DatabaseError) {
    let columns: (UUID, String, String, String, String?, Bool, Bool, Instant, Bool, Bool) = try row.decode()
    account = Account(
      id: UserID(columns.0), app: columns.1, provider: try named(columns.2), name: columns.3, email: columns.4,
      emailIsVerified: columns.5, emailIsPrivate: columns.6, createdAt: columns.7)
    isSuspended = columns.8
    isDeleting = columns.9
  }

  static func select(_ user: UserID) -> Query { "select \(part: columns) from auth.account where user_id = \(UUID(user))" }
}

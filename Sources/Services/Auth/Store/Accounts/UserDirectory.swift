public import AuthDomain
public import PostgreSQL
public import Values

/// People's accounts as operators look for them.
public struct UserDirectory: Sendable {
  /// Where a list of accounts goes on.
  public struct Place: Sendable, Hashable {
    /// When the last account of the page before was made.
    public var createdAt: Instant
    /// That account.
    public var id: UserID

    /// A place.
    public init(createdAt: Instant, id: UserID) {
      self.createdAt = createdAt
      self.id = id
    }
  }

  private let database: Database

  /// The accounts in `database`.
  public init(_ database: Database) { self.database = database }

  /// Accounts, the latest made first.
  ///
  /// - Parameters:
  ///   - filter: Which ones.
  ///   - place: The last account of the page before, or nil.
  ///   - limit: The most to answer.
  ///   - now: The time, by which sessions are alive.
  public func list(
    _ filter: UserFilter, after place: Place?, limit: Int, at now: Instant
  ) async throws(DatabaseError) -> [UserRecord] {
    let rows: [UserRow] = try await database.reads.rows(
      """
      \(part: UserRow.select(at: now)) where \(part: Self.condition(filter, after: place))
      order by account.created_at desc, account.user_id desc limit \(Int64(limit))
      """)
    return rows.map(\.record)
  }

  /// An account by its identifier, or nil when there is none.
  public func user(_ id: UserID, at now: Instant) async throws(DatabaseError) -> UserRecord? {
    let row: UserRow? = try await database.reads.row(
      "\(part: UserRow.select(at: now)) where account.user_id = \(UUID(id))")
    return row?.record
  }

  /// An account by the provider's identifier of the person, or nil when there is none.
  public func user(
    _ subject: String, of provider: IdentityProvider, in app: String, at now: Instant
  ) async throws(DatabaseError) -> UserRecord? {
    let row: UserRow? = try await database.reads.row(
      """
      \(part: UserRow.select(at: now)) where account.user_id = (
        select user_id from auth.identity_lookup
        where app = \(app) and provider = \(provider.rawValue) and subject = \(subject))
      """)
    return row?.record
  }

  private static func condition(_ filter: UserFilter, after place: Place?) -> Query {
    var condition: Query = "true"
    if let app = filter.app { condition = "\(part: condition) and account.app = \(app)" }
    if let provider = filter.provider { condition = "\(part: condition) and account.provider = \(provider.rawValue)" }
    if let email = filter.email { condition = "\(part: condition) and lower(account.email) = lower(\(email))" }
    if let since = filter.createdSince { condition = "\(part: condition) and account.created_at >= \(since)" }
    if let until = filter.createdUntil { condition = "\(part: condition) and account.created_at < \(until)" }
    if filter.suspendedOnly { condition = "\(part: condition) and account.suspended_at is not null" }
    if let place {
      condition = """
        \(part: condition) and (account.created_at, account.user_id) < (\(place.createdAt), \(UUID(place.id)))
        """
    }
    return condition
  }
}

/// A row of `auth.account` with what operators see beside it.
struct UserRow: RowDecodable {
  let record: UserRecord

  init(_ row: Row) throws(DatabaseError) {
    let account = Account(
      id: UserID(try row.decode(UUID.self, at: 0)), app: try row.decode(at: 1), provider: try named(try row.decode(at: 2)),
      name: try row.decode(at: 3), email: try row.decode(at: 4), emailIsVerified: try row.decode(at: 5),
      emailIsPrivate: try row.decode(at: 6), createdAt: try row.decode(Instant.self, at: 7))
    let suspendedAt: Instant? = try row.decode(at: 8)
    let by: String = try row.decode(at: 9)
    let reason: String = try row.decode(at: 10)
    let lastUsedAt: Instant? = try row.decode(at: 13)
    record = UserRecord(
      account: account, subject: try row.decode(at: 11),
      suspension: suspendedAt.map { Suspension(at: $0, by: by, reason: reason) },
      liveSessions: Int(try row.decode(Int64.self, at: 12)), lastUsedAt: lastUsedAt)
  }

  /// The statement up to its condition.
  static func select(at now: Instant) -> Query {
    """
    select account.user_id, account.app, account.provider, account.name, account.email, account.email_is_verified,
      account.email_is_private, account.created_at, account.suspended_at, coalesce(account.suspended_by, ''),
      coalesce(account.suspension_reason, ''), coalesce(identity.subject, ''), live.count, live.last_used_at
    from auth.account as account
    left join lateral (
      select subject from auth.identity_lookup where user_id = account.user_id order by created_at limit 1) as identity on true
    cross join lateral (
      select count(*) as count, max(last_used_at) as last_used_at from auth.session
      where user_id = account.user_id and ended_at is null and expires_at > \(now)) as live
    """
  }
}

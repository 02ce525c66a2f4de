public import AuthDomain
internal import EventLoop
public import PostgreSQL

/// What was done with accounts: rows are added and never changed.
public struct ActivityStore: Sendable {
  /// An entry as it is listed.
  public struct Entry: Sendable {
    /// Its identifier, which sorts by time.
    public var id: UUID
    /// What was done.
    public var activity: Activity
  }

  private let database: Database
  private let patience: Duration

  /// The entries in `database`; a statement may take `patience`.
  public init(_ database: Database, patience: Duration = .seconds(5)) {
    self.database = database
    self.patience = patience
  }

  /// Adds an entry; it is durable when this returns.
  public func add(_ activity: Activity) async throws(DatabaseError) {
    try await database.execute(Self.insert(activity), deadline: MonotonicInstant.now().advanced(by: patience))
  }

  /// The entries of an account, the latest first.
  ///
  /// - Parameters:
  ///   - user: Whose.
  ///   - before: The last entry of the page before, or nil.
  ///   - limit: The most to answer.
  public func list(of user: UserID, before: UUID?, limit: Int) async throws(DatabaseError) -> [Entry] {
    let before = before ?? UUID(high: .max, low: .max)
    let rows: [(UUID, Timestamp, String, String, String, String, UUID?, String, String)] = try await database.reads.rows(
      """
      select id, at, app, action, outcome, reason, session_id, client_address, request_id from auth.activity
      where user_id = \(UUID(user)) and id < \(before) order by id desc limit \(Int64(limit))
      """)
    var entries: [Entry] = []
    for row in rows {
      var activity = Activity(
        user: user, app: row.2, at: Moment(row.1), action: .signedIn, outcome: try named(row.4), reason: row.5,
        session: row.6.map { SessionID($0) }, address: row.7, requestID: row.8)
      activity.action = row.3
      entries.append(Entry(id: row.0, activity: activity))
    }
    return entries
  }

  /// The statement that adds an entry, for transactions that must not go without.
  static func insert(_ activity: Activity) -> Query {
    """
    insert into auth.activity (
      user_id, id, at, app, action, outcome, reason, session_id, client_address, request_id)
    values (
      \(UUID(activity.user)), \(UUID.v7(at: Timestamp(activity.at))), \(Timestamp(activity.at)), \(activity.app),
      \(activity.action), \(activity.outcome.rawValue), \(activity.reason), \(activity.session.map { UUID($0) }),
      \(activity.address), \(activity.requestID))
    """
  }
}

public import AuthDomain
internal import EventLoop
public import PostgreSQL
public import Values

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

  /// Adds an entry; it is durable when this returns. Of an account that is gone by then nothing is noted: it would stay.
  public func add(_ activity: Activity) async throws(DatabaseError) {
    try await database.execute(
      """
      insert into auth.activity (\(part: ActivityRow.columns))
      select \(part: Self.values(activity)) from auth.account where user_id = \(UUID(activity.user)) for share
      """, deadline: MonotonicInstant.now().advanced(by: patience))
  }

  /// The entries of an account, the latest first.
  ///
  /// - Parameters:
  ///   - user: Whose.
  ///   - before: The last entry of the page before, or nil.
  ///   - limit: The most to answer.
  public func list(of user: UserID, before: UUID?, limit: Int) async throws(DatabaseError) -> [Entry] {
    let before = before ?? UUID(high: .max, low: .max)
    let rows: [ActivityRow] = try await database.reads.rows(
      """
      select \(part: ActivityRow.columns) from auth.activity
      where user_id = \(UUID(user)) and id < \(before) order by id desc limit \(Int64(limit))
      """)
    return rows.map { Entry(id: $0.id, activity: $0.activity) }
  }

  /// The statement that adds an entry, for transactions that must not go without.
  static func insert(_ activity: Activity) -> Query {
    "insert into auth.activity (\(part: ActivityRow.columns)) values (\(part: values(activity)))"
  }

  private static func values(_ activity: Activity) -> Query {
    """
    \(UUID(activity.user)), \(UUID.v7(at: activity.at)), \(activity.at), \(activity.app),
    \(activity.action), \(activity.outcome.rawValue), \(activity.reason), \(activity.session.map { UUID($0) }),
    \(activity.address), \(activity.requestID), \(activity.actor), \(activity.note)
    """
  }
}

/// A row of `auth.activity`.
struct ActivityRow: RowDecodable {
  static let columns: Query = """
    user_id, id, at, app, action, outcome, reason, session_id, client_address, request_id, actor, note
    """

  let id: UUID
  let activity: Activity

  init(_ row: Row) throws(DatabaseError) {
    id = try row.decode(at: 1)
    let session: UUID? = try row.decode(at: 7)
    var activity = Activity(
      user: UserID(try row.decode(UUID.self, at: 0)), app: try row.decode(at: 3),
      at: try row.decode(Instant.self, at: 2), action: .signedIn, outcome: try named(try row.decode(at: 5)),
      reason: try row.decode(at: 6), session: session.map { SessionID($0) }, address: try row.decode(at: 8),
      requestID: try row.decode(at: 9), actor: try row.decode(at: 10), note: try row.decode(at: 11))
    activity.action = try row.decode(at: 4)
    self.activity = activity
  }
}

public import AuthDomain
internal import EventLoop
public import PostgreSQL

/// The feed of sessions that were ended.
///
/// A sequence counts in the order in which rows are made, and rows become visible in the order in which transactions commit, so a
/// reader that has seen row 8 may find row 7 later, and would never look for it. Here the two orders are one: whoever adds a row takes
/// an advisory lock first and holds it until its transaction is visible (PostgreSQL releases locks after that). It is taken last,
/// when all rows of the transaction are locked already, so it can be part of no deadlock; and sessions are ended seldom enough that
/// their transactions can commit one by one.
public struct RevocationStore: Sendable {
  /// A part of the feed.
  public struct Page: Sendable {
    /// The sessions, in the order in which they ended.
    public var sessions: [EndedSession]
    /// Where to go on.
    public var cursor: Int64
    /// Whether there may be more at once.
    public var isFull: Bool
  }

  private let database: Database

  /// The feed in `database`.
  public init(_ database: Database) { self.database = database }

  /// Where a reader that has seen all up to `cursor` goes on: from the start, if the database is younger than that (it was restored).
  public func position(_ cursor: Int64) async throws(DatabaseError) -> Int64 {
    let last: Int64? = try await database.reads.value("select coalesce(max(cursor), 0) from auth.revocation")
    return cursor > (last ?? 0) ? 0 : max(0, cursor)
  }

  /// What ended since, as far as it still matters.
  ///
  /// - Parameters:
  ///   - cursor: What the last page said; 0 for all.
  ///   - now: The time.
  ///   - limit: The most sessions to answer.
  public func page(after cursor: Int64, at now: Moment, limit: Int = 1000) async throws(DatabaseError) -> Page {
    let rows: [(Int64, UUID, String, Timestamp)] = try await database.reads.rows(
      """
      select cursor, session_id, cause, matters_until from auth.revocation
      where cursor > \(cursor) and matters_until > \(Timestamp(now)) order by cursor limit \(Int64(limit))
      """)
    var sessions: [EndedSession] = []
    for row in rows { sessions.append(EndedSession(id: SessionID(row.1), cause: try named(row.2), mattersUntil: Moment(row.3))) }
    return Page(sessions: sessions, cursor: rows.last?.0 ?? cursor, isFull: rows.count == limit)
  }

  /// The statements that add sessions to the feed: the last ones of their transaction.
  static func insert(_ sessions: [SessionID], _ cause: SessionEnd, mattersUntil: Moment) -> [Query] {
    [
      "select pg_advisory_xact_lock(hashtext('auth'), hashtext('revocation'))",
      """
      insert into auth.revocation (session_id, cause, matters_until)
      select q.id, \(cause.rawValue), \(Timestamp(mattersUntil)) from unnest(\(sessions.map { UUID($0) })) as q (id)
      """,
    ]
  }
}

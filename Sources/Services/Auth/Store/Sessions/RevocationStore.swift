public import AuthDomain
internal import EventLoop
public import PostgreSQL
public import Values

/// The feed of sessions that were ended.
///
/// A sequence counts in the order in which rows are made, and rows become visible in the order in which transactions commit, so a
/// reader that has seen row 8 may find row 7 later, and would never look for it. Here the two orders are one: whoever adds a row takes
/// an advisory lock first and holds it until its transaction is visible (PostgreSQL releases locks after that). It is taken last,
/// when all rows of the transaction are locked already, so it can be part of no deadlock; and sessions are ended seldom enough that
/// their transactions can commit one by one.
public struct RevocationStore: Sendable {
  /// A place in the feed: a number, and the session that has it.
  ///
  /// After the database was restored to a time before, the same numbers are given again, to other sessions.
  public struct Position: Sendable, Hashable {
    /// Before the first one.
    public static let start = Position(cursor: 0, session: nil)

    /// The number.
    public var cursor: Int64
    /// Whose it is.
    public var session: SessionID?

    /// A place.
    public init(cursor: Int64, session: SessionID?) {
      self.cursor = cursor
      self.session = session
    }
  }

  /// A part of the feed.
  public struct Page: Sendable {
    /// The sessions, in the order in which they ended.
    public var sessions: [EndedSession]
    /// Where to go on.
    public var position: Position
    /// Whether there may be more at once.
    public var isFull: Bool
  }

  private let database: Database

  /// The feed in `database`.
  public init(_ database: Database) { self.database = database }

  /// Where a reader that has seen all up to `cursor` goes on: from the start, if nothing stands there any more.
  public func position(_ cursor: Int64) async throws(DatabaseError) -> Position {
    guard cursor > 0 else { return .start }
    let session: UUID? = try await database.reads.row("select session_id from auth.revocation where cursor = \(cursor)")
    return session.map { Position(cursor: cursor, session: SessionID($0)) } ?? .start
  }

  /// What ended since, as far as it still matters. If the position is not there any more, everything that does: it may have run out,
  /// or the database may be one of before, in which what came after it never happened.
  ///
  /// - Parameters:
  ///   - position: What the last page said.
  ///   - now: The time.
  ///   - limit: The most sessions to answer.
  public func page(after position: Position, at now: Instant, limit: Int = 1000) async throws(DatabaseError) -> Page {
    // The position's own row as well: it is the proof that nothing has been turned back.
    let rows: [(Int64, UUID, String, Instant)] = try await database.reads.rows(
      """
      select cursor, session_id, cause, matters_until from auth.revocation
      where cursor >= \(position.cursor) and matters_until > \(now) order by cursor limit \(Int64(limit) + 1)
      """)
    var place = position
    var sessions: [EndedSession] = []
    for row in rows.dropFirst(position == .start ? 0 : 1).prefix(limit) {
      sessions.append(EndedSession(id: SessionID(row.1), cause: try named(row.2), mattersUntil: row.3))
      place = Position(cursor: row.0, session: SessionID(row.1))
    }
    if position != .start {
      guard let first = rows.first, first.0 == position.cursor, SessionID(first.1) == position.session else {
        return try await page(after: .start, at: now, limit: limit)
      }
    }
    return Page(sessions: sessions, position: place, isFull: sessions.count == limit)
  }

  /// The statements that add sessions to the feed: the last ones of their transaction.
  static func insert(_ sessions: [SessionID], _ cause: SessionEnd, mattersUntil: Instant) -> [Query] {
    [
      "select pg_advisory_xact_lock(hashtext('auth'), hashtext('revocation'))",
      """
      insert into auth.revocation (session_id, cause, matters_until)
      select q.id, \(cause.rawValue), \(mattersUntil) from unnest(\(sessions.map { UUID($0) })) as q (id)
      """,
    ]
  }
}

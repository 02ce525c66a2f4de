public import AuthDomain
public import PostgreSQL
public import Values

/// All that was done, as one list: activity of accounts, cloud tokens, kill switches.
///
/// The tables stay apart, because each is written with what it is about; their identifiers grow with time, so that the newest of all
/// are among the newest of each.
public struct AuditStore: Sendable {
  private let database: Database

  /// The tables in `database`.
  public init(_ database: Database) { self.database = database }

  /// Entries, the latest first.
  ///
  /// - Parameters:
  ///   - filter: Which ones.
  ///   - before: The last entry of the page before, or nil.
  ///   - limit: The most to answer.
  public func entries(
    _ filter: AuditFilter, before: UUID?, limit: Int
  ) async throws(DatabaseError) -> [AuditEntry] {
    let (kinds, range) = (filter.kinds, Self.range(filter, before: before))
    var found: [AuditEntry] = []
    if kinds.contains(.activity) { found += try await activity(filter, range, limit) }
    if kinds.contains(.issuance) { found += try await issuance(filter, range, limit) }
    if kinds.contains(.killSwitch) { found += try await switches(filter, range, limit) }
    // Written in digits, identifiers sort as they do in the database.
    return Array(found.sorted { $0.id > $1.id }.prefix(limit))
  }

  private static func range(_ filter: AuditFilter, before: UUID?) -> Query {
    var range: Query = "id < \(before ?? UUID(high: .max, low: .max))"
    // An identifier begins with its milliseconds.
    if let since = filter.since { range = "\(part: range) and id >= \(UUID(high: milliseconds(since) << 16, low: 0))" }
    if let until = filter.until { range = "\(part: range) and id < \(UUID(high: (milliseconds(until) + 1) << 16, low: 0))" }
    return range
  }

  private static func milliseconds(_ moment: Instant) -> UInt64 {
    // 48 bits of them, less one for what comes after.
    min(UInt64(max(0, moment.microseconds)) / 1000, 1 << 48 - 2)
  }

  /// The exact times, which the identifiers know only to the millisecond.
  private static func times(_ column: Query, _ filter: AuditFilter) -> Query {
    var times: Query = "true"
    if let since = filter.since { times = "\(part: times) and \(part: column) >= \(since)" }
    if let until = filter.until { times = "\(part: times) and \(part: column) < \(until)" }
    return times
  }

  // MARK: Activity

  private func activity(_ filter: AuditFilter, _ range: Query, _ limit: Int) async throws(DatabaseError) -> [AuditEntry] {
    var condition = Self.times("at", filter)
    if let person = filter.person { condition = "\(part: condition) and user_id = \(UUID(person.user))" }
    if let action = filter.action { condition = "\(part: condition) and action = \(action)" }
    if let outcome = filter.outcome { condition = "\(part: condition) and outcome = \(outcome.rawValue)" }
    if let reason = filter.reason { condition = "\(part: condition) and reason = \(reason)" }
    let rows: [ActivityRow] = try await database.reads.rows(
      """
      select \(part: ActivityRow.columns) from auth.activity
      where \(part: range) and \(part: condition) order by id desc limit \(Int64(limit))
      """)
    return rows.map { AuditEntry($0) }
  }

  // MARK: Cloud tokens

  private func issuance(_ filter: AuditFilter, _ range: Query, _ limit: Int) async throws(DatabaseError) -> [AuditEntry] {
    var condition = "\(part: range) and \(part: Self.times("issued_at", filter))" as Query
    if let outcome = filter.outcome { condition = "\(part: condition) and outcome = \(outcome.issuance.rawValue)" }
    if let reason = filter.reason { condition = "\(part: condition) and reason = \(reason)" }
    let rows: [IssuanceRow]
    if let subject = filter.person?.subject {
      rows = try await database.reads.rows(
        """
        select \(part: IssuanceRow.columns) from auth.token_issuance
        where subject_hash = \(subject.description) and \(part: condition) order by id desc limit \(Int64(limit))
        """)
    } else {
      // There are few capabilities, and for each an index that goes by time; one of all would cost every token.
      rows = try await database.reads.rows(
        """
        with recursive name (capability) as (
          (select capability from auth.token_issuance order by capability limit 1)
          union all
          select (
            select issuance.capability from auth.token_issuance as issuance where issuance.capability > name.capability
            order by issuance.capability limit 1)
          from name where name.capability is not null
        )
        select \(part: IssuanceRow.columns) from name cross join lateral (
          select subject_hash, id, issued_at, audience, client_address, request_id, outcome, reason
          from auth.token_issuance as issuance
          where issuance.capability = name.capability and \(part: condition) order by id desc limit \(Int64(limit))) as latest
        order by id desc limit \(Int64(limit))
        """)
    }
    return rows.map { AuditEntry($0) }
  }

  // MARK: Kill switches

  private func switches(_ filter: AuditFilter, _ range: Query, _ limit: Int) async throws(DatabaseError) -> [AuditEntry] {
    var condition = Self.times("changed_at", filter)
    if let action = filter.action { condition = "\(part: condition) and is_stopped = \(action == AuditEntry.stopped)" }
    let rows: [(UUID, String, Bool, String, Instant, String, String)] = try await database.reads.rows(
      """
      select id, capability, is_stopped, reason, changed_at, changed_by, subject_hash from auth.kill_switch_change
      where \(part: range) and \(part: condition) order by id desc limit \(Int64(limit))
      """)
    return rows.map { row in
      AuditEntry(
        id: row.0.description, at: row.4, kind: .killSwitch, action: row.2 ? AuditEntry.stopped : AuditEntry.resumed,
        outcome: .done, actor: row.5, subject: SubjectHash(row.6), capability: row.1, note: row.3)
    }
  }
}

/// A row of `auth.token_issuance`, as far as the audit shows it.
private struct IssuanceRow: RowDecodable {
  static let columns: Query = "id, subject_hash, issued_at, audience, capability, client_address, request_id, outcome, reason"

  let id: UUID
  let record: IssuanceRecord

  init(_ row: Row) throws(DatabaseError) {
    id = try row.decode(at: 0)
    guard let subject = SubjectHash(try row.decode(String.self, at: 1)) else {
      throw DatabaseError(.decodingFailed, "a line of the ledger has no subject")
    }
    record = IssuanceRecord(
      at: try row.decode(Instant.self, at: 2), subject: subject, audience: try row.decode(at: 3),
      capability: try row.decode(at: 4), address: try row.decode(at: 5), requestID: try row.decode(at: 6),
      outcome: try named(try row.decode(at: 7)), reason: try row.decode(at: 8))
  }
}

extension AuditEntry {
  fileprivate init(_ row: ActivityRow) {
    let activity = row.activity
    self.init(
      id: row.id.description, at: activity.at, kind: .activity, action: activity.action,
      outcome: activity.outcome == .done ? .done : .refused, reason: activity.reason, actor: activity.actor, user: activity.user,
      session: activity.session, app: activity.app, note: activity.note, address: activity.address, requestID: activity.requestID)
  }

  fileprivate init(_ row: IssuanceRow) {
    let record = row.record
    let outcome: Outcome =
      switch record.outcome {
      case .issued: .done
      case .denied: .refused
      case .failed: .failed
      }
    self.init(
      id: row.id.description, at: record.at, kind: .issuance, action: Self.exchange, outcome: outcome, reason: record.reason,
      actor: Activity.person, subject: record.subject, app: record.audience, capability: record.capability,
      address: record.address, requestID: record.requestID)
  }
}

extension AuditEntry.Outcome {
  fileprivate var issuance: IssuanceRecord.Outcome {
    switch self {
    case .done: .issued
    case .refused: .denied
    case .failed: .failed
    }
  }
}

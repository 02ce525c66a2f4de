public import AuthDomain
public import PostgreSQL
internal import Values

/// The switches that stop capabilities, shared by all copies of the service.
public struct KillSwitchStore: Sendable {
  private let database: Database

  /// The switches in `database`.
  public init(_ database: Database) { self.database = database }

  /// All that were ever set, by capability, those for everybody first.
  public func all() async throws(DatabaseError) -> [KillSwitch] {
    let rows: [Row] = try await database.reads.rows(
      """
      select capability, is_stopped, reason, changed_at, changed_by, subject_hash from auth.kill_switch
      order by capability, subject_hash
      """)
    return try rows.map { row throws(DatabaseError) in try Self.killSwitch(row) }
  }

  /// Sets a switch and puts that on record, both or neither. One that stands so already, for the same reason, stays as it is.
  ///
  /// - Returns: How it stands now.
  public func set(_ wanted: KillSwitch) async throws(DatabaseError) -> KillSwitch {
    let subject = wanted.subject?.description ?? ""
    let rows: [Row] = try await database.rows(
      """
      with changed as (
        insert into auth.kill_switch as switch (capability, is_stopped, reason, changed_at, changed_by, subject_hash)
        values (
          \(wanted.capability), \(wanted.isStopped), \(wanted.reason), \(wanted.changedAt), \(wanted.changedBy),
          \(subject))
        on conflict (capability, subject_hash) do update set
          is_stopped = excluded.is_stopped, reason = excluded.reason, changed_at = excluded.changed_at,
          changed_by = excluded.changed_by
        where (switch.is_stopped, switch.reason) is distinct from (excluded.is_stopped, excluded.reason)
        returning *
      ), recorded as (
        insert into auth.kill_switch_change (id, capability, is_stopped, reason, changed_at, changed_by, subject_hash)
        select \(UUID.v7(at: wanted.changedAt)), capability, is_stopped, reason, changed_at, changed_by, subject_hash
        from changed
      )
      select capability, is_stopped, reason, changed_at, changed_by, subject_hash from changed
      union all
      select capability, is_stopped, reason, changed_at, changed_by, subject_hash from auth.kill_switch
      where capability = \(wanted.capability) and subject_hash = \(subject) and not exists (select from changed)
      """)
    guard let row = rows.first else { throw DatabaseError(.queryFailed, "a switch that was set is not there") }
    return try Self.killSwitch(row)
  }

  private typealias Row = (String, Bool, String, Instant, String, String)

  private static func killSwitch(_ row: Row) throws(DatabaseError) -> KillSwitch {
    let subject = SubjectHash(row.5)
    guard row.5.isEmpty || subject != nil else { throw DatabaseError(.decodingFailed, "a switch is about nobody") }
    return KillSwitch(
      capability: row.0, subject: subject, isStopped: row.1, reason: row.2, changedAt: row.3, changedBy: row.4)
  }
}

public import AuthDomain
public import PostgreSQL
public import Values

extension AccountWorkStore {
  /// The attempt at a step that may write what came of it.
  public struct Attempt: Sendable, Hashable {
    /// Whose account.
    public var user: UserID
    /// The export or deletion.
    public var work: AccountWorkID
    /// The step.
    public var step: StepName
    /// Counts the attempts.
    public var number: Int32
  }

  /// Adds the steps that a work has not yet: a service may have joined since it began.
  public func add(_ steps: [StepName], to work: AccountWorkID, of user: UserID) async throws(DatabaseError) {
    try await database.execute(Self.addSteps(steps, to: work, of: user))
  }

  static func addSteps(_ steps: [StepName], to work: AccountWorkID, of user: UserID) -> Query {
    """
    insert into auth.account_work_step (user_id, work_id, name, place)
    select \(UUID(user)), \(UUID(work)), step.name, step.place from unnest(\(steps.map(\.rawValue)))
      with ordinality as step (name, place)
    on conflict do nothing
    """
  }

  /// Begins an attempt at a step; nil when the step is done.
  public func begin(_ step: StepName, of work: AccountWorkID, of user: UserID) async throws(DatabaseError) -> Attempt? {
    let number: Int32? = try await database.value(
      """
      update auth.account_work_step set attempts = attempts + 1
      where user_id = \(UUID(user)) and work_id = \(UUID(work)) and name = \(step.rawValue) and done_at is null
      returning attempts
      """)
    return number.map { Attempt(user: user, work: work, step: step, number: $0) }
  }

  /// A step is done.
  ///
  /// - Returns: Whether the attempt was still the one that counts.
  @discardableResult
  public func finish(
    _ attempt: Attempt, _ counts: [AccountWork.Count], at now: Instant
  ) async throws(DatabaseError) -> Bool {
    try await database.settle(within: patience) { transaction in
      try await Self.finish(attempt, counts, at: now, on: transaction)
    }
  }

  static func finish(
    _ attempt: Attempt, _ counts: [AccountWork.Count], at now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    let changed = try await transaction.execute(
      """
      update auth.account_work_step set done_at = \(now), failure = ''
      where user_id = \(UUID(attempt.user)) and work_id = \(UUID(attempt.work)) and name = \(attempt.step.rawValue)
        and done_at is null and attempts = \(attempt.number)
      """)
    guard changed == 1 else { return false }
    try await transaction.executeAll(
      counts.map { count in
        """
        insert into auth.account_work_count (user_id, work_id, step, kind, deleted, held, why_held)
        values (
          \(UUID(attempt.user)), \(UUID(attempt.work)), \(attempt.step.rawValue), \(count.kind), \(count.deleted), \(count.held),
          \(count.whyHeld))
        """
      })
    return true
  }

  /// An attempt has failed; `word` says why.
  public func fail(_ attempt: Attempt, _ word: String) async throws(DatabaseError) {
    try await database.execute(
      """
      update auth.account_work_step set failure = \(word)
      where user_id = \(UUID(attempt.user)) and work_id = \(UUID(attempt.work)) and name = \(attempt.step.rawValue)
        and done_at is null and attempts = \(attempt.number)
      """)
  }

  // MARK: How the work stands

  /// How many works have not ended though they were asked for before `limit`, by kind.
  public func overdue(since limit: Instant) async throws(DatabaseError) -> [AccountWork.Kind: Int] {
    let rows: [(String, Int64)] = try await database.rows(
      """
      select kind, count(*) from auth.account_work where done_at is null and created_at < \(limit) group by kind
      """)
    var counts: [AccountWork.Kind: Int] = [:]
    for row in rows { counts[try named(row.0)] = Int(row.1) }
    return counts
  }

  /// Works that have not ended though they were asked for before `limit`, the oldest first, at most 1000.
  public func running(
    since limit: Instant
  ) async throws(DatabaseError) -> [(user: UserID, work: AccountWorkID, kind: AccountWork.Kind)] {
    let rows: [(UUID, UUID, String)] = try await database.rows(
      """
      select user_id, id, kind from auth.account_work where done_at is null and created_at < \(limit)
      order by created_at limit 1000
      """)
    var works: [(UserID, AccountWorkID, AccountWork.Kind)] = []
    for row in rows { works.append((UserID(row.0), AccountWorkID(row.1), try named(row.2))) }
    return works
  }

  // MARK: Clean-up

  /// Exports that have run out, with all their bytes, and those that were given up before `limit`.
  ///
  /// - Returns: How many were removed.
  public func removeExports(expiredBefore now: Instant, failedBefore limit: Instant) async throws(DatabaseError) -> Int {
    try await remove(
      """
      select user_id, id from auth.account_work
      where kind = 'export' and done_at is not null
        and coalesce(expires_at, done_at) < case when expires_at is null then \(limit) else \(now) end
      limit \(Self.sweepSize) for update skip locked
      """)
  }

  /// Deletions that ended before `limit`, with their receipts.
  ///
  /// - Returns: How many were removed.
  public func removeDeletions(doneBefore limit: Instant) async throws(DatabaseError) -> Int {
    try await remove(
      """
      select user_id, id from auth.account_work where kind = 'deletion' and done_at < \(limit)
      limit \(Self.sweepSize) for update skip locked
      """)
  }

  /// Few at a time: an export has thousands of rows.
  private static var sweepSize: Int64 { 20 }

  private func remove(_ found: Query) async throws(DatabaseError) -> Int {
    var total = 0
    while true {
      let removed = try await database.settle(within: patience) { transaction in
        let works: [(UUID, UUID)] = try await transaction.rows(found)
        for work in works { try await transaction.executeAll(Self.remove(AccountWorkID(work.1), of: UserID(work.0))) }
        return works.count
      }
      total += removed
      guard removed == Int(Self.sweepSize) else { return total }
    }
  }

  static func remove(_ work: AccountWorkID, of user: UserID) -> [Query] {
    let (user, work) = (UUID(user), UUID(work))
    return [
      "delete from auth.account_export_chunk where user_id = \(user) and work_id = \(work)",
      "delete from auth.account_work_count where user_id = \(user) and work_id = \(work)",
      "delete from auth.account_work_step where user_id = \(user) and work_id = \(work)",
      "delete from auth.deletion_receipt_lookup where user_id = \(user) and work_id = \(work)",
      "delete from auth.account_work where user_id = \(user) and id = \(work)",
    ]
  }

  /// All exports of a person, those that are being made as well.
  static func removeExports(of user: UserID) -> [Query] {
    let user = UUID(user)
    return [
      "delete from auth.account_export_chunk where user_id = \(user)",
      """
      delete from auth.account_work_count where user_id = \(user)
        and work_id in (select id from auth.account_work where user_id = \(user) and kind = 'export')
      """,
      """
      delete from auth.account_work_step where user_id = \(user)
        and work_id in (select id from auth.account_work where user_id = \(user) and kind = 'export')
      """,
      "delete from auth.account_work where user_id = \(user) and kind = 'export'",
    ]
  }
}

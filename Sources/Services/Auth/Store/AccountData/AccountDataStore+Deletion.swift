public import AuthDomain
internal import Jobs
public import PostgreSQL
public import Values

extension AccountDataStore {
  /// Why nothing could be deleted.
  public enum Refusal: Sendable, Hashable {
    /// The account has no deletion of this name.
    case notAsked
    /// Other services have not done their parts yet.
    case notYet
  }

  /// What became of a deletion.
  public enum DeletionOutcome: Sendable, Hashable {
    /// Everything is gone that is to go; these are the counts, the same for every call.
    case done([AccountWork.Count], endedNow: Bool)
    /// Nothing was touched.
    case refused(Refusal)
  }

  /// Deletes what this service keeps of a person, and ends the work: all of it in one transaction, so that it is done once, whatever
  /// happens meanwhile. Nobody can sign in to the account between: whoever tries waits, and then begins a new one.
  public func erase(
    _ person: Person, work: AccountWorkID, at now: Instant
  ) async throws(DatabaseError) -> DeletionOutcome {
    try await database.settle(within: patience) { transaction in
      let user = UUID(person.user)
      let isDone: Bool? = try await transaction.value(
        """
        select done_at is not null from auth.account_work
        where user_id = \(user) and id = \(UUID(work)) and kind = 'deletion' for update
        """)
      guard let isDone else { return .refused(.notAsked) }
      if isDone { return .done(try await Self.counts(of: work, person, on: transaction), endedNow: false) }
      let left: Int64? = try await transaction.value(
        """
        select count(*) from auth.account_work_step
        where user_id = \(user) and work_id = \(UUID(work)) and done_at is null and name <> \(StepName.own.rawValue)
        """)
      guard left == 0 else { return .refused(.notYet) }
      let counts = try await delete(person, on: transaction)
      let number: Int32? = try await transaction.value(
        """
        update auth.account_work_step set attempts = attempts + 1
        where user_id = \(user) and work_id = \(UUID(work)) and name = \(StepName.own.rawValue) returning attempts
        """)
      guard let number else { throw DatabaseError(.queryFailed, "a deletion has no step of its own") }
      let attempt = AccountWorkStore.Attempt(user: person.user, work: work, step: .own, number: number)
      guard try await AccountWorkStore.finish(attempt, counts, at: now, on: transaction) else {
        throw DatabaseError(.queryFailed, "a deletion was done before it ended")
      }
      try await transaction.execute(
        "update auth.account_work set done_at = \(now) where user_id = \(user) and id = \(UUID(work))")
      return .done(try await Self.counts(of: work, person, on: transaction), endedNow: true)
    }
  }

  private static func counts(
    of work: AccountWorkID, _ person: Person, on transaction: Transaction
  ) async throws(DatabaseError) -> [AccountWork.Count] {
    let rows: [(String, Int64, Int64, String)] = try await transaction.rows(
      """
      select kind, deleted, held, why_held from auth.account_work_count
      where user_id = \(UUID(person.user)) and work_id = \(UUID(work)) and step = \(StepName.own.rawValue) order by kind
      """)
    return rows.map { AccountWork.Count($0.0, deleted: $0.1, held: $0.2, whyHeld: $0.3) }
  }

  private func delete(
    _ person: Person, on transaction: Transaction
  ) async throws(DatabaseError) -> [AccountWork.Count] {
    let user = UUID(person.user)
    // Before the rows that calls lock behind their buckets. None comes back: whoever has asked for a deletion is not counted any more.
    try await transaction.execute(
      """
      delete from auth.rate_limit where key = any(\((LimitKey.all(of: person.user) + person.subjects.map(LimitKey.user)).map(\.text)))
        or key in (select 'refresh:' || id from auth.session where user_id = \(user))
      """)
    // What is append only is touched by the owner's functions alone, which look at the account's row and at its identities: they come
    // before those go. Nobody signs in meanwhile: since the deletion was asked for, whoever tries is refused.
    let activity: Int64 = try await transaction.value("select auth.forget_activity(\(user))") ?? 0
    let events: Int64 = try await transaction.value("select auth.forget_webhook_events(\(user))") ?? 0
    let tokens: Int64 =
      try await transaction.value("select auth.forget_issuance(\(user), \(person.audiences), \(person.salt))") ?? 0
    // Whoever signs in from here on waits for the identity, and finds none.
    let identities = try await transaction.execute("delete from auth.identity_lookup where user_id = \(user)")
    let exports: Int64 =
      try await transaction.value(
        "select count(*) from auth.account_work where user_id = \(user) and kind = 'export'", as: Int64.self) ?? 0
    // Jobs that somebody enqueued for the person. The deletion's own bears nobody's name.
    let jobs = try await jobs.forget(user, in: transaction)
    let changed = try await transaction.executeAll(
      [
        "delete from auth.account where user_id = \(user)",
        """
        update auth.session set device_name = '', platform = '', app_version = '', last_address = '' where user_id = \(user)
        """,
        // Before they are gone: what comes for these ids later must be known for what it is.
        """
        insert into auth.forgotten_customer (hash)
        select sha256(convert_to(id, 'UTF8'))
        from (select \(user)::text as id union select customer_id from auth.customer_lookup where user_id = \(user)) as ids
        on conflict (hash) do nothing
        """, "delete from auth.entitlement where user_id = \(user)",
        "delete from auth.subscription_snapshot where user_id = \(user)",
        "delete from auth.customer_lookup where user_id = \(user)",
        "delete from auth.provider_grant where user_id = \(user)", "delete from auth.idempotency where user_id = \(user)",
      ] + AccountWorkStore.removeExports(of: person.user))
    return [
      AccountWork.Count("accounts", deleted: Int64(changed[0])),
      AccountWork.Count("identities", deleted: Int64(identities)),
      Self.kept("sessions", Int64(changed[1]), AccountRecords.sessionsKept),
      Self.kept("activity", activity, AccountRecords.activityKept),
      Self.kept("cloud_tokens", tokens, AccountRecords.tokensKept),
      AccountWork.Count("entitlements", deleted: Int64(changed[3])),
      AccountWork.Count("subscriptions", deleted: Int64(changed[4])),
      AccountWork.Count("customers", deleted: Int64(changed[5])), Self.kept("purchases", events, AccountRecords.eventsKept),
      AccountWork.Count("grants", deleted: Int64(changed[6])), AccountWork.Count("exports", deleted: exports),
      AccountWork.Count("jobs", deleted: Int64(jobs)),
      Self.kept("deletions", 1, AccountRecords.deletionsKept),
    ].filter { $0.deleted > 0 || $0.held > 0 }
  }

  private static func kept(_ kind: String, _ count: Int64, _ why: String) -> AccountWork.Count {
    AccountWork.Count(kind, held: count, whyHeld: count > 0 ? why : "")
  }
}

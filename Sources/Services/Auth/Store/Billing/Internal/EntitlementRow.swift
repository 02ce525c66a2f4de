internal import AuthDomain
internal import PostgreSQL
internal import Values

/// A row of `auth.entitlement`.
enum EntitlementRow {
  /// Makes sure that there is a row, if there is such an account and it is not being deleted, and locks both until the transaction ends.
  ///
  /// - Returns: Whether there is.
  static func lock(_ user: UserID, on transaction: Transaction) async throws(DatabaseError) -> Bool {
    try await transaction.execute(
      """
      insert into auth.entitlement as known (user_id)
      select user_id from auth.account where user_id = \(UUID(user)) and deleting_at is null for share
      on conflict (user_id) do update set checked_at = known.checked_at
      """) == 1
  }

  /// Notes for how long calls do not have RevenueCat asked.
  static func pause(_ pause: AskingPause, of user: UserID, on transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      """
      update auth.entitlement set ask_attempts = \(Int32(clamping: pause.attempts)),
        ask_pause_until = \(pause.endsAt), ask_has_failed = \(pause.hasFailed)
      where user_id = \(UUID(user))
      """)
  }

  /// The end of time stands for a subscription that never ends: NULL says that there is none.
  static func write(
    _ subscription: Subscription?, of user: UserID, heardAt now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(
      """
      update auth.entitlement set product_id = \(subscription?.productID ?? ""),
        ends_at = \(subscription.map { $0.endsAt ?? .distantFuture }),
        grace_until = \(subscription?.graceUntil), is_trial = \(subscription?.isTrial ?? false),
        has_billing_issue = \(subscription?.hasBillingIssue ?? false), will_renew = \(subscription?.willRenew ?? false),
        checked_at = greatest(checked_at, \(now))
      where user_id = \(UUID(user))
      """)
  }

  static func read(of user: UserID, on runner: some QueryRunning) async throws(DatabaseError) -> EntitlementRecord? {
    let row: Row? = try await runner.row(
      """
      select product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew, management_url, customer_id, checked_at,
        asked_at, ask_attempts, ask_pause_until, ask_has_failed
      from auth.entitlement where user_id = \(UUID(user))
      """)
    return row?.record
  }

  private struct Row: RowDecodable {
    private(set) var record: EntitlementRecord

    init(_ row: PostgreSQL.Row) throws(DatabaseError) {
      let endsAt: Instant? = try row.decode(at: 1)
      let customer: String? = try row.decode(at: 7)
      let checkedAt: Instant? = try row.decode(at: 8)
      let askedAt: Instant? = try row.decode(at: 9)
      let pausedUntil: Instant? = try row.decode(at: 11)
      record = EntitlementRecord(
        subscription: try endsAt.map { endsAt throws(DatabaseError) in try SnapshotRow.subscription(row, endsAt: endsAt) },
        managementURL: try row.decode(at: 6), customer: customer.flatMap { CustomerID($0) },
        checkedAt: checkedAt, askedAt: askedAt)
      record.pause = AskingPause(
        attempts: Int(try row.decode(Int32.self, at: 10)), endsAt: pausedUntil,
        hasFailed: try row.decode(at: 12))
    }
  }
}

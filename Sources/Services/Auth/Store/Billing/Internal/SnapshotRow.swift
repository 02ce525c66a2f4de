internal import AuthDomain
internal import PostgreSQL
internal import Values

/// The rows of `auth.subscription_snapshot`: what RevenueCat answered last about an account.
enum SnapshotRow {
  static func replace(
    _ subscriptions: [Subscription], of user: UserID, on transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute("delete from auth.subscription_snapshot where user_id = \(UUID(user))")
    guard !subscriptions.isEmpty else { return }
    // An array has no NULLs here: the beginning of time stands for a grace that there is none of.
    try await transaction.execute(
      """
      insert into auth.subscription_snapshot (
        user_id, product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew)
      select \(UUID(user)), q.product_id, q.ends_at, nullif(q.grace_until, '-infinity'), q.is_trial, q.has_billing_issue,
        q.will_renew
      from unnest(
        \(subscriptions.map(\.productID)), \(subscriptions.map { $0.endsAt ?? .distantFuture }),
        \(subscriptions.map { $0.graceUntil ?? .distantPast }), \(subscriptions.map(\.isTrial)),
        \(subscriptions.map(\.hasBillingIssue)), \(subscriptions.map(\.willRenew)))
        as q (product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew)
      """)
  }

  static func read(of user: UserID, on transaction: Transaction) async throws(DatabaseError) -> SubscriptionSnapshot? {
    let at: Instant?? = try await transaction.value("select snapshot_at from auth.entitlement where user_id = \(UUID(user))")
    guard let at = at ?? nil else { return nil }
    let rows: [Row] = try await transaction.rows(
      """
      select product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew
      from auth.subscription_snapshot where user_id = \(UUID(user))
      """)
    return SubscriptionSnapshot(at: at, subscriptions: rows.map(\.subscription))
  }

  /// Reads what stands in the first six columns.
  static func subscription(_ row: PostgreSQL.Row, endsAt: Instant) throws(DatabaseError) -> Subscription {
    let graceUntil: Instant? = try row.decode(at: 2)
    return Subscription(
      productID: try row.decode(at: 0), endsAt: endsAt == .distantFuture ? nil : endsAt,
      graceUntil: graceUntil, isTrial: try row.decode(at: 3), hasBillingIssue: try row.decode(at: 4),
      willRenew: try row.decode(at: 5))
  }

  private struct Row: RowDecodable {
    let subscription: Subscription

    init(_ row: PostgreSQL.Row) throws(DatabaseError) {
      subscription = try SnapshotRow.subscription(row, endsAt: try row.decode(Instant.self, at: 1))
    }
  }
}

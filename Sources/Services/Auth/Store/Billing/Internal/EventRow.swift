internal import AuthDomain
internal import PostgreSQL
internal import Values

/// A row of `auth.webhook_event`.
enum EventRow {
  /// Keeps an event by its id and its type alone.
  ///
  /// - Returns: Whether it is new.
  static func insert(_ id: String, _ type: String, _ now: Instant, on transaction: Transaction) async throws(DatabaseError)
    -> Bool
  {
    try await transaction.execute(
      """
      insert into auth.webhook_event (event_id, type, received_at) values (\(id), \(type), \(now))
      on conflict (event_id) do nothing
      """) == 1
  }

  /// - Returns: Whether it is new.
  static func insert(
    _ event: BillingEvent, _ body: [UInt8], _ now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    try await transaction.execute(
      """
      insert into auth.webhook_event (
        event_id, type, is_sandbox, occurred_at, received_at, customers, transferred_from, transferred_to, product_id,
        entitlements, expires_at, grace_until, period, reason, body)
      values (
        \(event.id), \(event.type), \(event.isSandbox), \(event.at), \(now),
        \(event.customers.map(\.text)), \(event.transferredFrom.map(\.text)), \(event.transferredTo.map(\.text)),
        \(event.productID), \(event.entitlements), \(event.expiresAt),
        \(event.graceUntil), \(event.period), \(event.reason), \(body))
      on conflict (event_id) do nothing
      """) == 1
  }

  static func read(
    of customers: Set<CustomerID>, onlyTransfers: Bool = false, atMost limit: Int64, on transaction: Transaction
  ) async throws(DatabaseError) -> [BillingEvent] {
    let rows: [Row] = try await transaction.rows(
      """
      select event_id, type, is_sandbox, occurred_at, customers, transferred_from, transferred_to, product_id, entitlements,
        expires_at, grace_until, period, reason
      from auth.webhook_event where all_customers && \(customers.map(\.text))
        and (type = 'TRANSFER' or not \(onlyTransfers))
      order by occurred_at desc, event_id desc limit \(limit)
      """)
    return rows.map(\.event)
  }

  private struct Row: RowDecodable {
    let event: BillingEvent

    init(_ row: PostgreSQL.Row) throws(DatabaseError) {
      let expiresAt: Instant? = try row.decode(at: 9)
      let graceUntil: Instant? = try row.decode(at: 10)
      let entitlements: [String] = try row.decode(at: 8)
      event = BillingEvent(
        id: try row.decode(at: 0), type: try row.decode(at: 1), at: try row.decode(Instant.self, at: 3),
        isSandbox: try row.decode(at: 2), customers: try Self.customers(row, 4),
        transferredFrom: try Self.customers(row, 5), transferredTo: try Self.customers(row, 6),
        productID: try row.decode(at: 7), entitlements: entitlements, expiresAt: expiresAt,
        graceUntil: graceUntil, period: try row.decode(at: 11), reason: try row.decode(at: 12))
    }

    private static func customers(_ row: PostgreSQL.Row, _ column: Int) throws(DatabaseError) -> [CustomerID] {
      let ids: [String] = try row.decode(at: column)
      return ids.compactMap { CustomerID($0) }
    }
  }
}

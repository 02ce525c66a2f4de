internal import AuthDomain
internal import PostgreSQL

/// A row of `auth.webhook_event`.
enum EventRow {
  /// Keeps an event by its id and its type alone.
  ///
  /// - Returns: Whether it is new.
  static func insert(_ id: String, _ type: String, _ now: Moment, on transaction: Transaction) async throws(DatabaseError) -> Bool
  {
    try await transaction.execute(
      """
      insert into auth.webhook_event (event_id, type, received_at) values (\(id), \(type), \(Timestamp(now)))
      on conflict (event_id) do nothing
      """) == 1
  }

  /// - Returns: Whether it is new.
  static func insert(
    _ event: BillingEvent, _ body: [UInt8], _ now: Moment, on transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    try await transaction.execute(
      """
      insert into auth.webhook_event (
        event_id, type, is_sandbox, occurred_at, received_at, customers, transferred_from, transferred_to, product_id,
        entitlements, expires_at, grace_until, period, reason, body)
      values (
        \(event.id), \(event.type), \(event.isSandbox), \(Timestamp(event.at)), \(Timestamp(now)),
        \(event.customers.map(\.text)), \(event.transferredFrom.map(\.text)), \(event.transferredTo.map(\.text)),
        \(event.productID), \(event.entitlements), \(event.expiresAt.map { Timestamp($0) }),
        \(event.graceUntil.map { Timestamp($0) }), \(event.period), \(event.reason), \(body))
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
      let expiresAt: Timestamp? = try row.decode(at: 9)
      let graceUntil: Timestamp? = try row.decode(at: 10)
      let entitlements: [String] = try row.decode(at: 8)
      event = BillingEvent(
        id: try row.decode(at: 0), type: try row.decode(at: 1), at: Moment(try row.decode(Timestamp.self, at: 3)),
        isSandbox: try row.decode(at: 2), customers: try Self.customers(row, 4),
        transferredFrom: try Self.customers(row, 5), transferredTo: try Self.customers(row, 6),
        productID: try row.decode(at: 7), entitlements: entitlements, expiresAt: expiresAt.map { Moment($0) },
        graceUntil: graceUntil.map { Moment($0) }, period: try row.decode(at: 11), reason: try row.decode(at: 12))
    }

    private static func customers(_ row: PostgreSQL.Row, _ column: Int) throws(DatabaseError) -> [CustomerID] {
      let ids: [String] = try row.decode(at: column)
      return ids.compactMap { CustomerID($0) }
    }
  }
}

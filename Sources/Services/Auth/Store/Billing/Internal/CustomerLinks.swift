internal import AuthDomain
internal import PostgreSQL

/// Who RevenueCat's customers are, in `auth.customer_lookup`.
enum CustomerLinks {
  /// Locks customers until the transaction ends, also those that no row knows yet.
  static func lock(_ customers: [CustomerID], on transaction: Transaction) async throws(DatabaseError) {
    let ids = Set(customers).sorted().map(\.text)
    guard !ids.isEmpty else { return }
    try await transaction.execute(
      """
      select pg_advisory_xact_lock(key)
      from (select distinct hashtextextended(id, 5100) as key from unnest(\(ids)) as t (id) order by 1) as keys
      """)
  }

  /// The accounts that an event is about, in the order of their ids, once the links that it tells of are made.
  static func follow(_ event: BillingEvent, at now: Moment, on transaction: Transaction) async throws(DatabaseError) -> [UserID] {
    let links = try await users(of: event.allCustomers, on: transaction)
    let history = BillingHistory([event], links: links)
    if event.meaning == .transfers { return try await move(event, history, at: now, on: transaction) }
    guard case .user(let user)? = history.owner(event) else { return [] }
    for customer in event.customers where customer.user == nil {
      try await insert(customer, user, at: now, on: transaction)
    }
    return [user]
  }

  /// Links a customer to an account, unless it is linked already.
  ///
  /// - Returns: Whether it is linked to this account now.
  static func link(
    _ customer: CustomerID, to user: UserID, at now: Moment, on transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    if let named = customer.user { return named == user }
    try await insert(customer, user, at: now, on: transaction)
    return try await users(of: [customer], on: transaction)[customer] == user
  }

  /// The accounts of those customers that have one.
  static func users(of customers: [CustomerID], on runner: some QueryRunning) async throws(DatabaseError) -> [CustomerID: UserID]
  {
    let rows: [(String, UUID)] = try await runner.rows(
      "select customer_id, user_id from auth.customer_lookup where customer_id = any(\(customers.map(\.text)))")
    var users: [CustomerID: UserID] = [:]
    for (id, user) in rows { if let customer = CustomerID(id) { users[customer] = UserID(user) } }
    return users
  }

  /// All ids of an account, its own first.
  static func customers(of user: UserID, on runner: some QueryRunning) async throws(DatabaseError) -> [CustomerID] {
    let ids: [String] = try await runner.rows("select customer_id from auth.customer_lookup where user_id = \(UUID(user))")
    return [CustomerID(user)] + ids.compactMap { CustomerID($0) }
  }

  /// The purchases were handed on, and so are the customers that no account's own id names.
  private static func move(
    _ event: BillingEvent, _ history: BillingHistory, at now: Moment, on transaction: Transaction
  ) async throws(DatabaseError) -> [UserID] {
    func users(_ customers: [CustomerID]) -> Set<UserID> {
      Set(customers.compactMap { if case .user(let user) = history.party($0) { user } else { nil } })
    }
    let (givers, takers) = (users(event.transferredFrom), users(event.transferredTo))
    if takers.count == 1, let taker = takers.first {
      for customer in event.transferredTo where customer.user == nil {
        try await insert(customer, taker, at: now, on: transaction)
      }
      for customer in event.transferredFrom where customer.user == nil {
        try await transaction.executeAll([
          """
          insert into auth.customer_lookup as lookup (customer_id, user_id, cause, linked_at)
          values (\(customer.text), \(UUID(taker)), 'transfer', \(Timestamp(now)))
          on conflict (customer_id) do update set user_id = excluded.user_id, cause = excluded.cause, linked_at = excluded.linked_at
          """,
          """
          update auth.entitlement set customer_id = null
          where user_id = any(\(givers.subtracting(takers).map { UUID($0) })) and customer_id = \(customer.text)
          """,
        ])
      }
    }
    return givers.union(takers).sorted { ($0.high, $0.low) < ($1.high, $1.low) }
  }

  private static func insert(
    _ customer: CustomerID, _ user: UserID, at now: Moment, on transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(
      """
      insert into auth.customer_lookup (customer_id, user_id, cause, linked_at)
      values (\(customer.text), \(UUID(user)), 'named', \(Timestamp(now))) on conflict (customer_id) do nothing
      """)
  }
}

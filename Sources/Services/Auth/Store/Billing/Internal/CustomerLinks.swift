internal import AuthDomain
internal import PostgreSQL
internal import Values

/// Who RevenueCat's customers are: accounts by their own ids, and what is linked to accounts in `auth.customer_lookup`.
///
/// An account that is being deleted counts as gone. Of ids of accounts that are gone only a hash is known
/// (`auth.forgotten_customer`), so that what comes for them later is told from what is nobody's yet; where such an id has to be linked,
/// because RevenueCat names it first of a customer that another account has, it is the hash that is.
enum CustomerLinks {
  /// Whose some ids are.
  struct Owners: Sendable {
    /// The accounts, locked against their deletion until the transaction ends; also by their own ids.
    var users: [CustomerID: UserID] = [:]
    /// The ids that name somebody who is gone, or about to be. They may have an account by now, and are not stored all the same.
    var forgotten: Set<CustomerID> = []
  }

  /// Whether a customer is an account's.
  struct Link: Sendable {
    /// Whether it is this account's.
    var isOurs: Bool
    /// Whether the id may be stored.
    var mayBeKept: Bool
  }

  // MARK: Looking

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

  /// Whose the ids of an event are.
  static func owners(of customers: [CustomerID], on transaction: Transaction) async throws(DatabaseError) -> Owners {
    let found = try await find(customers, on: transaction)
    let open = try await lockAccounts(Array(Set(found.lazy.filter { !$0.isLeaving }.map(\.user))), on: transaction)
    var owners = Owners()
    for row in found where open.contains(row.user) { owners.users[row.customer] = row.user }
    for user in open { owners.users[CustomerID(user)] = user }
    let gone: [String] = try await transaction.rows(
      """
      select id from unnest(\(Set(customers).map(\.text))) as t (id)
      where exists (select from auth.forgotten_customer where hash = sha256(convert_to(id, 'UTF8')))
      """)
    owners.forgotten = Set(gone.compactMap { CustomerID($0) })
    for row in found where owners.users[row.customer] == nil { owners.forgotten.insert(row.customer) }
    return owners
  }

  /// The accounts of those customers that have one.
  static func users(of customers: [CustomerID], on runner: some QueryRunning) async throws(DatabaseError) -> [CustomerID: UserID]
  {
    guard !customers.isEmpty else { return [:] }
    var users: [CustomerID: UserID] = [:]
    for row in try await find(customers, on: runner) where !row.isLeaving { users[row.customer] = row.user }
    return users
  }

  /// All ids of an account that are known, its own first.
  static func customers(of user: UserID, on runner: some QueryRunning) async throws(DatabaseError) -> [CustomerID] {
    let ids: [String] = try await runner.rows("select customer_id from auth.customer_lookup where user_id = \(UUID(user))")
    return [CustomerID(user)] + ids.compactMap { CustomerID($0) }
  }

  /// Those of some accounts that are there and not being deleted, locked so that they stay until the transaction ends.
  static func lockAccounts(_ users: [UserID], on transaction: Transaction) async throws(DatabaseError) -> Set<UserID> {
    guard !users.isEmpty else { return [] }
    let rows: [UUID] = try await transaction.rows(
      """
      select user_id from auth.account where user_id = any(\(users.map { UUID($0) })) and deleting_at is null
      order by user_id for share
      """)
    return Set(rows.map { UserID($0) })
  }

  private typealias Found = (customer: CustomerID, user: UserID, isLeaving: Bool)

  /// The accounts that some ids are of; an account's own id last, since it is nobody else's.
  private static func find(
    _ customers: [CustomerID], on runner: some QueryRunning
  ) async throws(DatabaseError) -> [Found] {
    let ids = Array(Set(customers))
    let own = ids.filter { $0.user != nil }
    let rows: [(String, UUID, Bool)] = try await runner.rows(
      """
      select found.id, account.user_id, account.deleting_at is not null
      from (
        select asked.id, link.user_id, 0 as place
        from unnest(\(ids.map(\.text))) as asked (id)
          join auth.customer_lookup as link on link.customer_id in (asked.id, \(part: hashed("asked.id")))
        union all
        select id, user_id, 1 from unnest(\(own.map(\.text)), \(own.compactMap { $0.user.map { UUID($0) } })) as own (id, user_id)
      ) as found join auth.account as account on account.user_id = found.user_id
      order by found.place
      """)
    return rows.compactMap { row in CustomerID(row.0).map { ($0, UserID(row.1), row.2) } }
  }

  /// How an id is linked that must not be stored.
  private static func hashed(_ id: Query) -> Query { "'sha256:' || encode(sha256(convert_to(\(part: id), 'UTF8')), 'hex')" }

  // MARK: Linking

  /// The accounts that an event is about, in the order of their ids, once the links that it tells of are made.
  static func follow(
    _ event: BillingEvent, _ owners: Owners, at now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) -> [UserID] {
    let history = BillingHistory([event], links: owners.users)
    if event.meaning == .transfers { return try await move(event, owners, at: now, on: transaction) }
    guard case .user(let user)? = history.owner(event) else { return [] }
    for customer in event.customers where owners.users[customer] == nil {
      try await insert(customer, user, at: now, on: transaction)
    }
    return [user]
  }

  /// Links a customer to an account, unless it is linked already.
  static func link(
    _ customer: CustomerID, to user: UserID, at now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) -> Link {
    // Only ids of accounts that exist are ours; another system's UUID is a customer's like any other.
    let owners = try await owners(of: [customer], on: transaction)
    let mayBeKept = !owners.forgotten.contains(customer)
    if let owner = owners.users[customer] { return Link(isOurs: owner == user, mayBeKept: mayBeKept) }
    try await insert(customer, user, at: now, on: transaction)
    return Link(isOurs: try await users(of: [customer], on: transaction)[customer] == user, mayBeKept: mayBeKept)
  }

  /// The purchases were handed on, and so are the customers that no account's own id names.
  private static func move(
    _ event: BillingEvent, _ owners: Owners, at now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) -> [UserID] {
    func users(_ customers: [CustomerID]) -> Set<UserID> { Set(customers.compactMap { owners.users[$0] }) }
    func isOwn(_ customer: CustomerID) -> Bool { customer.user != nil && owners.users[customer] == customer.user }
    let (givers, takers) = (users(event.transferredFrom), users(event.transferredTo))
    if takers.count == 1, let taker = takers.first {
      for customer in event.transferredTo where owners.users[customer] == nil {
        try await insert(customer, taker, at: now, on: transaction)
      }
      for customer in event.transferredFrom where !isOwn(customer) {
        try await transaction.executeAll([
          """
          insert into auth.customer_lookup as lookup (customer_id, user_id, cause, linked_at)
          values (\(customer.text), \(UUID(taker)), 'transfer', \(now))
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

  /// An id of somebody who is gone is linked by its hash.
  private static func insert(
    _ customer: CustomerID, _ user: UserID, at now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(
      """
      insert into auth.customer_lookup (customer_id, user_id, cause, linked_at)
      select
        case when exists (select from auth.forgotten_customer where hash = sha256(convert_to(q.id, 'UTF8')))
          then \(part: hashed("q.id")) else q.id end,
        \(UUID(user)), 'named', \(now)
      from (select \(customer.text)::text as id) as q
      on conflict (customer_id) do nothing
      """)
  }
}

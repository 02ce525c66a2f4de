internal import AuthDomain
internal import PostgreSQL
internal import Values

/// Reads all events that what an account has may depend on: its own, and those of whoever handed purchases on to it.
enum HistoryReader {
  /// The newest so many events of a circle of customers; weekly renewals of forty years.
  private static let maximumEvents: Int64 = 2000
  /// Purchases that were handed on more often than this are left to the next answer of RevenueCat's.
  private static let maximumTransfers = 8

  static func read(
    around user: UserID, counting entitlements: Set<String>, on transaction: Transaction
  ) async throws(DatabaseError) -> BillingHistory {
    var circle = Set(try await CustomerLinks.customers(of: user, on: transaction))
    var events: [BillingEvent] = []
    for _ in 0..<maximumTransfers {
      events = try await EventRow.read(of: circle, atMost: maximumEvents, on: transaction)
      var wider = circle
      for event in events where event.meaning == .transfers { wider.formUnion(event.transferredFrom) }
      let givers = wider.subtracting(circle)
      guard !givers.isEmpty else { break }
      var users = Set(givers.compactMap(\.user))
      users.formUnion(try await CustomerLinks.users(of: Array(givers), on: transaction).values)
      for giver in users { wider.formUnion(try await CustomerLinks.customers(of: giver, on: transaction)) }
      circle = wider
    }
    let links = try await CustomerLinks.users(of: Array(Set(events.flatMap(\.allCustomers))), on: transaction)
    return BillingHistory(events, links: links, entitlements: entitlements)
  }

  /// The accounts that purchases of these were ever handed on to: what is learned late of the givers changes what they have.
  static func takers(from users: [UserID], on transaction: Transaction) async throws(DatabaseError) -> [UserID] {
    var affected = Set(users)
    var frontier = affected
    for _ in 0..<maximumTransfers where !frontier.isEmpty {
      var circle: Set<CustomerID> = []
      for user in frontier { circle.formUnion(try await CustomerLinks.customers(of: user, on: transaction)) }
      let transfers = try await EventRow.read(of: circle, onlyTransfers: true, atMost: maximumEvents, on: transaction)
      guard !transfers.isEmpty else { break }
      let links = try await CustomerLinks.users(of: Array(Set(transfers.flatMap(\.allCustomers))), on: transaction)
      let history = BillingHistory([], links: links)
      func users(_ customers: [CustomerID]) -> Set<UserID> {
        Set(customers.compactMap { if case .user(let user) = history.party($0) { user } else { nil } })
      }
      frontier = transfers.reduce(into: []) { found, transfer in
        // A customer that was handed on with its purchases counts as its new owner's.
        if !users(transfer.transferredFrom).isDisjoint(with: affected) { found.formUnion(users(transfer.transferredTo)) }
      }
      frontier.subtract(affected)
      affected.formUnion(frontier)
    }
    return affected.subtracting(users).sorted { ($0.high, $0.low) < ($1.high, $1.low) }
  }
}

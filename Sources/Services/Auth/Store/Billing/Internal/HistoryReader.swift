internal import AuthDomain
internal import PostgreSQL

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
}

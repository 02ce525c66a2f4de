internal import AuthDomain

/// What is kept of an event that is about an account: of the ids in it only those that are the account's, or become so.
struct KeptEvent: Sendable {
  /// The event, as far as it is kept.
  let event: BillingEvent
  /// Whether nothing of it was left out, so that what was posted may be kept as it came.
  let isWhole: Bool

  /// Nil for an event that is about no account: its id and its type are all that is kept of it then.
  ///
  /// - Parameters:
  ///   - event: What was posted.
  ///   - owners: Whose its ids are.
  init?(_ event: BillingEvent, _ owners: CustomerLinks.Owners) {
    // A test names a customer that does not exist.
    guard event.type != "TEST" else { return nil }
    func isOwned(_ customer: CustomerID) -> Bool { owners.users[customer] != nil }
    func mayBeLinked(_ customer: CustomerID) -> Bool { isOwned(customer) || !owners.forgotten.contains(customer) }
    var kept = event
    if event.meaning == .transfers {
      guard event.allCustomers.contains(where: isOwned) else { return nil }
      // Whom nobody knows becomes the taker's; without one taker it stays nobody's.
      let hasTaker = Set(event.transferredTo.compactMap { owners.users[$0] }).count == 1
      kept.customers = []
      kept.transferredFrom = event.transferredFrom.filter(hasTaker ? mayBeLinked : isOwned)
      kept.transferredTo = event.transferredTo.filter(hasTaker ? mayBeLinked : isOwned)
    } else {
      guard event.customers.contains(where: isOwned) else { return nil }
      kept.customers = event.customers.filter(mayBeLinked)
      (kept.transferredFrom, kept.transferredTo) = ([], [])
    }
    self.event = kept
    isWhole = kept == event
  }
}

internal import AuthDomain

/// What is kept of an event that is about an account: of the ids in it only those that are the account's, or become so. In the place of
/// an id that must not be stored, though it is the account's by now, stands the account's own.
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
    func kept(_ customers: [CustomerID], linking: Bool) -> [CustomerID] {
      var kept: [CustomerID] = []
      for customer in customers {
        let isForgotten = owners.forgotten.contains(customer)
        guard let user = owners.users[customer] else {
          if linking, !isForgotten { kept.append(customer) }
          continue
        }
        let named = isForgotten ? CustomerID(user) : customer
        if !isForgotten || !kept.contains(named) { kept.append(named) }
      }
      return kept
    }
    var known = event
    if event.meaning == .transfers {
      guard event.allCustomers.contains(where: isOwned) else { return nil }
      // Whom nobody knows becomes the taker's; without one taker it stays nobody's.
      let hasTaker = Set(event.transferredTo.compactMap { owners.users[$0] }).count == 1
      known.customers = []
      known.transferredFrom = kept(event.transferredFrom, linking: hasTaker)
      known.transferredTo = kept(event.transferredTo, linking: hasTaker)
    } else {
      guard event.customers.contains(where: isOwned) else { return nil }
      known.customers = kept(event.customers, linking: true)
      (known.transferredFrom, known.transferredTo) = ([], [])
    }
    self.event = known
    isWhole = known == event
  }
}

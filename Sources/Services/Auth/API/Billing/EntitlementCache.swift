internal import AuthDomain
internal import Synchronization

/// Who was found entitled, and how long that may be remembered. A "no" never is: the purchase may come any second.
final class EntitlementCache: Sendable {
  private let capacity: Int
  private let known = Mutex<[UserID: Moment]>([:])

  init(capacity: Int = 65_536) { self.capacity = capacity }

  /// Until when this account's "yes" holds, if it still does.
  func validity(of user: UserID, at now: Moment) -> Moment? {
    known.withLock { known in
      guard let until = known[user], now < until else { return nil }
      return until
    }
  }

  func remember(_ user: UserID, until moment: Moment, at now: Moment) {
    known.withLock { known in
      if known.count >= capacity, known[user] == nil {
        known = known.filter { now < $0.value }
        // Full of what still holds: they ask the database once more.
        if known.count >= capacity { known = [:] }
      }
      known[user] = moment
    }
  }

  func forget(_ user: UserID) { known.withLock { _ = $0.removeValue(forKey: user) } }
}

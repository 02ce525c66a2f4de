internal import Synchronization

/// Who was found entitled, and how long that may be remembered. A "no" never is: the purchase may come any second.
///
/// Bounded: once it is full of what still holds, all of it is forgotten, and people are asked after once more.
public final class RememberedEntitlements<Person: Hashable & Sendable, Time: Comparable & Sendable>: Sendable {
  private let capacity: Int
  private let known = Mutex<[Person: Time]>([:])

  /// Knows nobody.
  ///
  /// - Parameter capacity: The most people that are remembered.
  public init(capacity: Int = 65_536) { self.capacity = capacity }

  /// Until when this person's "yes" holds, if it still does.
  public func validity(of person: Person, at now: Time) -> Time? {
    known.withLock { known in
      guard let until = known[person], now < until else { return nil }
      return until
    }
  }

  /// Remembers a "yes".
  ///
  /// - Parameters:
  ///   - person: Whose.
  ///   - moment: When it holds no more.
  ///   - now: The time.
  public func remember(_ person: Person, until moment: Time, at now: Time) {
    known.withLock { known in
      if known.count >= capacity, known[person] == nil {
        known = known.filter { now < $0.value }
        if known.count >= capacity { known = [:] }
      }
      known[person] = moment
    }
  }

  /// Forgets a person, of whom there is news.
  public func forget(_ person: Person) { known.withLock { _ = $0.removeValue(forKey: person) } }
}

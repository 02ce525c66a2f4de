public import Values

/// Refusals that still hold, so that a flood of calls that will be refused anyway is not asked about each time.
///
/// Bounded: it forgets what was used least recently, which costs a question and nothing else. Two generations make that cheap:
/// what is used moves to the younger one, and the older one is dropped whole.
public struct RefusalMemory<Key: Hashable & Sendable>: Sendable {
  private let halfCapacity: Int
  private var young: [Key: Instant] = [:]
  private var old: [Key: Instant] = [:]

  /// A memory for at most `capacity` refusals.
  public init(capacity: Int) { halfCapacity = max(1, capacity / 2) }

  /// How many refusals are remembered, those that no longer hold included.
  public var count: Int { young.count + old.count }

  /// Until when calls under `key` are refused, if that is known and still to come.
  public mutating func refusal(of key: Key, at now: Instant) -> Instant? {
    if let until = young[key] { return until > now ? until : forget(key) }
    guard let until = old.removeValue(forKey: key), until > now else { return nil }
    insert(key, until)
    return until
  }

  /// Remembers that calls under `key` are refused until then.
  public mutating func remember(_ key: Key, until: Instant) {
    old.removeValue(forKey: key)
    insert(key, until)
  }

  private mutating func insert(_ key: Key, _ until: Instant) {
    if young[key] == nil, young.count >= halfCapacity { (old, young) = (young, [:]) }
    young[key] = until
  }

  private mutating func forget(_ key: Key) -> Instant? {
    young.removeValue(forKey: key)
    return nil
  }
}

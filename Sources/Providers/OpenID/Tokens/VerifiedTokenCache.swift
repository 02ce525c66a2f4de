/// Tokens that were verified already, by their digest, so that a caller who shows the same one again costs no signature.
///
/// Bounded: what was used least recently goes first, in two generations, the older of which is dropped whole. An entry holds
/// for the key set that it was verified with and no other: a withdrawn key takes its tokens along.
struct VerifiedTokenCache<Content: Sendable> {
  struct Entry {
    let content: Content
    let expiry: Int64
    let issuedAt: Int64
    /// What time it was when its claims were judged.
    let judgedAt: Int64
    let keyGeneration: UInt64
  }

  private let halfCapacity: Int
  private var young: [[UInt8]: Entry] = [:]
  private var old: [[UInt8]: Entry] = [:]

  init(capacity: Int) { halfCapacity = max(1, capacity / 2) }

  var count: Int { young.count + old.count }

  /// What was verified under this digest, whatever the keys are now.
  mutating func entry(_ digest: [UInt8]) -> Entry? {
    if let entry = young[digest] { return entry }
    guard let entry = old.removeValue(forKey: digest) else { return nil }
    insert(digest, entry)
    return entry
  }

  mutating func insert(_ digest: [UInt8], _ entry: Entry) {
    if young[digest] == nil, young.count >= halfCapacity { (old, young) = (young, [:]) }
    young[digest] = entry
  }
}

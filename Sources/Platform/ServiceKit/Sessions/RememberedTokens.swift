internal import PostgreSQL
internal import Synchronization

/// The tokens that one loop has verified, by the whole value of the field that brought them.
///
/// Bounded: what was used least recently goes first, in two generations, the older of which is dropped whole. An entry holds for
/// the keys that it was verified with and no other.
final class RememberedTokens: Sendable {
  private struct Entry {
    let caller: Caller
    let expiry: Int64
    let keyGeneration: UInt64
    /// Of the revocations: until it changes, the session is known to be alive.
    var revision: UInt64
  }

  private struct State {
    var young: [String: Entry] = [:]
    var old: [String: Entry] = [:]
  }

  private let halfCapacity: Int
  private let state = Mutex(State())

  init(capacity: Int) { halfCapacity = max(1, capacity / 2) }

  var count: Int { state.withLock { $0.young.count + $0.old.count } }

  /// Who calls with this field, if that was verified with these keys, has not expired, and the session has not ended.
  func caller(
    _ field: String, at now: Int64, _ leeway: Int64, _ generation: UInt64, _ revision: UInt64,
    _ ending: (UUID) -> SessionEnding?
  ) -> Caller? {
    state.withLock { state in
      let isYoung: Bool
      var entry: Entry
      if let found = state.young[field] {
        (entry, isYoung) = (found, true)
      } else {
        guard let found = state.old.removeValue(forKey: field) else { return nil }
        (entry, isYoung) = (found, false)
      }
      // As the full check takes it; what has died since is judged by that again.
      guard entry.keyGeneration == generation, now <= entry.expiry + leeway, leeway > 0 || now < entry.expiry else { return nil }
      let isKnownAlive = entry.revision == revision
      if !isKnownAlive {
        guard ending(entry.caller.sessionID) == nil else { return nil }
        entry.revision = revision
      }
      if !isYoung || !isKnownAlive { insert(field, entry, into: &state) }
      return entry.caller
    }
  }

  func remember(_ field: String, _ caller: Caller, expiry: Int64, generation: UInt64, revision: UInt64) {
    state.withLock { state in
      insert(field, Entry(caller: caller, expiry: expiry, keyGeneration: generation, revision: revision), into: &state)
    }
  }

  private func insert(_ field: String, _ entry: Entry, into state: inout State) {
    if state.young[field] == nil, state.young.count >= halfCapacity { (state.old, state.young) = (state.young, [:]) }
    state.young[field] = entry
  }
}

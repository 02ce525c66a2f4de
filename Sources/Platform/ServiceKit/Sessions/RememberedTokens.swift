internal import Glibc
internal import RPC
internal import Synchronization
internal import Values

/// The tokens that one loop has verified, by the whole value of the field that brought them.
///
/// Bounded: what was used least recently goes first, in two generations, the older of which is dropped whole. An entry holds for
/// the keys that it was verified with and no other.
///
/// A field is looked up by its last bytes, the end of a signature, and then compared whole: to hash half a kilobyte for every call
/// would cost more than all the rest. Only fields with good signatures are here, so nobody chooses their ends; of two that end alike
/// the later one stays.
final class RememberedTokens: Sendable {
  /// The end of a field.
  private struct Tail: Hashable {
    var low: UInt64 = 0
    var high: UInt64 = 0

    init(_ field: UnsafeRawBufferPointer) {
      if field.count >= 16 {
        low = field.loadUnaligned(fromByteOffset: field.count - 8, as: UInt64.self)
        high = field.loadUnaligned(fromByteOffset: field.count - 16, as: UInt64.self)
      } else {
        for byte in field { (high, low) = (high << 8 | low >> 56, low << 8 | UInt64(byte)) }
      }
    }

    /// Eight bytes of a signature are as random as sixteen.
    func hash(into hasher: inout Hasher) { hasher.combine(low) }
  }

  private struct Entry {
    let field: [UInt8]
    let caller: AttachableValue<Caller.Key>
    let expiry: Int64
    let judgedAt: Int64
    let keyGeneration: UInt64
    /// Of the revocations: until it changes, the session is known to be alive.
    var revision: UInt64

    func isFor(_ field: UnsafeRawBufferPointer) -> Bool {
      guard let base = field.baseAddress, field.count == self.field.count else { return false }
      return self.field.withUnsafeBytes { memcmp($0.baseAddress.unsafelyUnwrapped, base, field.count) == 0 }
    }
  }

  private struct State {
    var young: [Tail: Entry] = [:]
    var old: [Tail: Entry] = [:]
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
    var field = field
    return field.withUTF8 { caller(UnsafeRawBufferPointer($0), at: now, leeway, generation, revision, ending) }?.value
  }

  /// The same by its bytes, to be attached to a call.
  func caller(
    _ field: UnsafeRawBufferPointer, at now: Int64, _ leeway: Int64, _ generation: UInt64, _ revision: UInt64,
    _ ending: (UUID) -> SessionEnding?
  ) -> AttachableValue<Caller.Key>? {
    let tail = Tail(field)
    return state.withLock { state in
      let isYoung: Bool
      var entry: Entry
      if let found = state.young[tail] {
        (entry, isYoung) = (found, true)
      } else {
        guard let found = state.old.removeValue(forKey: tail) else { return nil }
        (entry, isYoung) = (found, false)
      }
      guard entry.isFor(field) else { return nil }
      // As the full check takes it; what has died since is judged by that again, and so is what was judged later than it is now: it
      // may not be issued or valid yet.
      guard now >= entry.judgedAt else { return nil }
      guard entry.keyGeneration == generation, now <= entry.expiry + leeway, leeway > 0 || now < entry.expiry else { return nil }
      let isKnownAlive = entry.revision == revision
      if !isKnownAlive {
        guard ending(entry.caller.value.sessionID) == nil else { return nil }
        entry.revision = revision
      }
      if !isYoung || !isKnownAlive { insert(tail, entry, into: &state) }
      return entry.caller
    }
  }

  func remember(_ field: String, _ caller: Caller, expiry: Int64, judgedAt: Int64, generation: UInt64, revision: UInt64) {
    let bytes = Array(field.utf8)
    let entry = Entry(
      field: bytes, caller: AttachableValue(caller), expiry: expiry, judgedAt: judgedAt, keyGeneration: generation,
      revision: revision)
    state.withLock { insert(bytes.withUnsafeBytes { Tail($0) }, entry, into: &$0) }
  }

  private func insert(_ tail: Tail, _ entry: Entry, into state: inout State) {
    if state.young[tail] == nil, state.young.count >= halfCapacity { (state.old, state.young) = (state.young, [:]) }
    state.young[tail] = entry
  }
}

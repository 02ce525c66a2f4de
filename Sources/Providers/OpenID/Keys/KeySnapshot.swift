internal import EventLoop
internal import JOSE

/// A key set as it was fetched: immutable, and swapped whole.
final class KeySnapshot: Sendable, Equatable {
  let keys: JWKSet
  /// Changes exactly when the document does: what was verified under another generation must be verified again.
  let generation: UInt64
  /// The digest of the document.
  let digest: [UInt8]
  /// When the request for it was sent: it is at least as new as that.
  let requestedAt: MonotonicInstant
  let freshUntil: MonotonicInstant
  /// However long the server is away, the keys are not used after this.
  let usableUntil: MonotonicInstant

  init(
    keys: JWKSet, generation: UInt64, digest: [UInt8], requestedAt: MonotonicInstant, freshUntil: MonotonicInstant,
    usableUntil: MonotonicInstant
  ) {
    self.keys = keys
    self.generation = generation
    self.digest = digest
    self.requestedAt = requestedAt
    self.freshUntil = freshUntil
    self.usableUntil = usableUntil
  }

  static func == (left: KeySnapshot, right: KeySnapshot) -> Bool { left === right }
}

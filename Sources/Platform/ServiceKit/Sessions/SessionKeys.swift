public import JOSE

/// The keys that access tokens are checked with, as a service needs them; whoever has them implements it.
public protocol SessionKeys: Sendable {
  /// The generation of the keys, where they are at hand and fresh; nil: ask ``current()``. Asked for every call, so it does not wait.
  var generationAtHand: UInt64? { get }

  /// The keys to use now, fetched if they have to be.
  ///
  /// - Throws: ``SessionKeysUnavailable``.
  func current() async throws(SessionKeysUnavailable) -> SessionKeySet

  /// Keys that are newer than `set`, for a token that its keys do not check; nil when there are none, or may be none yet.
  ///
  /// - Throws: ``SessionKeysUnavailable``.
  func newer(than set: SessionKeySet) async throws(SessionKeysUnavailable) -> SessionKeySet?
}

/// Keys as they were published at one time.
public struct SessionKeySet: Sendable {
  /// The keys.
  public let keys: JWKSet
  /// Changes exactly when the keys do: what was checked with another generation is checked again.
  public let generation: UInt64

  /// Keys of a generation.
  public init(keys: JWKSet, generation: UInt64) {
    self.keys = keys
    self.generation = generation
  }
}

/// There are no keys, and none from before that may still be used.
public struct SessionKeysUnavailable: Error, Sendable, CustomStringConvertible {
  /// What it ran into, safe to log.
  public let description: String

  /// Says what it ran into.
  public init(_ description: String) { self.description = description }
}

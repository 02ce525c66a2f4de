internal import AuthDomain
package import ServiceKit

/// The service's own keys as those that it checks access tokens with.
package struct OwnSessionKeys: SessionKeys {
  private let keyring: SigningKeyring

  /// The published keys of a keyring.
  package init(_ keyring: SigningKeyring) { self.keyring = keyring }

  /// As ``ServiceKit/SessionKeys/generationAtHand``.
  package var generationAtHand: UInt64? { keyring.atHand?.generation }

  /// As ``ServiceKit/SessionKeys/current()``.
  package func current() async throws(SessionKeysUnavailable) -> SessionKeySet {
    do { return SessionKeySet(try await keyring.current()) } catch { throw SessionKeysUnavailable(error.reason) }
  }

  /// None: another copy signs with no key that was not published an hour before, and so read.
  package func newer(than set: SessionKeySet) async throws(SessionKeysUnavailable) -> SessionKeySet? {
    guard let snapshot = keyring.latest, snapshot.generation != set.generation else { return nil }
    return SessionKeySet(snapshot)
  }
}

extension SessionKeySet {
  init(_ snapshot: SigningKeyring.Snapshot) { self.init(keys: snapshot.published, generation: snapshot.generation) }
}

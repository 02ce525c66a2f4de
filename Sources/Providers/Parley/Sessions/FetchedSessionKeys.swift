public import OpenID
public import ServiceKit

/// The auth service's keys, fetched from its key set document.
public struct FetchedSessionKeys: SessionKeys {
  private let cache: JWKSCache

  /// Keys of a cache.
  public init(_ cache: JWKSCache) { self.cache = cache }

  /// As ``ServiceKit/SessionKeys/generationAtHand``.
  public var generationAtHand: UInt64? { cache.generationAtHand }

  /// As ``ServiceKit/SessionKeys/current()``.
  public func current() async throws(SessionKeysUnavailable) -> SessionKeySet {
    do { return SessionKeySet(try await cache.keySet()) } catch { throw SessionKeysUnavailable(error.description) }
  }

  /// As ``ServiceKit/SessionKeys/newer(than:)``: fetched ahead of time at most once in the cache's cooldown.
  public func newer(than set: SessionKeySet) async throws(SessionKeysUnavailable) -> SessionKeySet? {
    do { return try await cache.keySet(newerThan: set.generation).map { SessionKeySet($0) } } catch {
      throw SessionKeysUnavailable(error.description)
    }
  }
}

extension SessionKeySet {
  init(_ set: JWKSCache.KeySet) { self.init(keys: set.keys, generation: set.generation) }
}

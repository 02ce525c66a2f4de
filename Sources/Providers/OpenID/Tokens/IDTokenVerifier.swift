public import EventLoop
public import JOSE
internal import Synchronization

/// Verifies tokens of one issuer for one set of audiences.
///
/// Form and claims are judged before any key is looked for; then the signature. A token that was verified is remembered by the
/// loop that did it, for as long as the key set stays the same; its expiry and its age are looked
/// at each time, and all of it where the clock was set back since.
public final class IDTokenVerifier<Content: Sendable>: Sendable {
  private let keys: JWKSCache
  private let policy: VerificationPolicy
  private let clock: ProviderClock
  private let loops: [EventLoop]
  private let read: @Sendable (VerifiedToken) throws(IDTokenError) -> Content
  /// One per loop, and one for callers elsewhere. Nobody else is at a loop's lock, so it costs next to nothing.
  private let caches: [CacheSlot]

  private final class CacheSlot: Sendable {
    let cache: Mutex<VerifiedTokenCache<Content>>
    init(capacity: Int) { cache = Mutex(VerifiedTokenCache(capacity: capacity)) }
  }

  /// A verifier for callers on these loops.
  ///
  /// - Parameters:
  ///   - policy: Whose tokens are accepted, for whom, and how exactly time is taken.
  ///   - rememberedPerLoop: How many verified tokens each loop remembers.
  ///   - keys: The issuer's keys.
  ///   - loops: The loops that verify.
  ///   - clock: What tells the time.
  ///   - read: What a verified token says; it may refuse what the standard leaves open.
  public init(
    _ policy: VerificationPolicy, rememberedPerLoop: Int = 8192, keys: JWKSCache, loops: [EventLoop], clock: ProviderClock,
    read: @escaping @Sendable (VerifiedToken) throws(IDTokenError) -> Content
  ) {
    self.policy = policy
    self.keys = keys
    self.loops = loops
    self.clock = clock
    self.read = read
    caches = (0...loops.count).map { _ in CacheSlot(capacity: rememberedPerLoop) }
  }

  /// What the token says, if it is valid.
  ///
  /// - Throws: ``IDTokenError``.
  public func verify(_ token: String) async throws(IDTokenError) -> Content {
    let bytes = Array(token.utf8)
    guard bytes.count <= CompactJWS.maximumByteCount else { throw IDTokenError(TokenError(code: .tooLarge)) }
    let began = clock.now()
    let digest = SHA256.digest(bytes)
    if let known = await remembered(digest) { return known }
    let unverified: UnverifiedToken
    let judgedAt = clock.unixSeconds()
    do { unverified = try UnverifiedToken(parsing: bytes, policy: policy, now: judgedAt) } catch {
      throw IDTokenError(error)
    }
    let (verified, generation) = try await checkSignature(of: unverified, began: began)
    let content = try read(verified)
    slot.cache.withLock {
      $0.insert(
        digest,
        .init(
          content: content, expiry: verified.expiry, issuedAt: verified.issuedAt, judgedAt: judgedAt, keyGeneration: generation))
    }
    return content
  }

  private func checkSignature(
    of token: UnverifiedToken, began: MonotonicInstant
  ) async throws(IDTokenError) -> (VerifiedToken, UInt64) {
    let snapshot = try await held { () async throws(KeysError) in try await keys.current() }
    do { return (try token.verified(by: token.key(in: snapshot.keys)), snapshot.generation) } catch {
      // The key may be newer than our set, or have been replaced under its name.
      guard error.code == .keyUnknown || error.code == .signatureInvalid,
        let newer = try await held({ () async throws(KeysError) in try await keys.newer(than: began) }),
        newer !== snapshot
      else { throw IDTokenError(error) }
      do { return (try token.verified(by: token.key(in: newer.keys)), newer.generation) } catch { throw IDTokenError(error) }
    }
  }

  private func remembered(_ digest: [UInt8]) async -> Content? {
    guard let entry = slot.cache.withLock({ $0.entry(digest) }), isAlive(entry),
      let snapshot = try? await keys.current(), snapshot.generation == entry.keyGeneration
    else { return nil }
    return entry.content
  }

  /// As the full check takes it; what has died since is judged by that again, and so is what was judged later than it is now: it may not
  /// be issued or valid yet.
  private func isAlive(_ entry: VerifiedTokenCache<Content>.Entry) -> Bool {
    let leeway = policy.expiryLeeway.components.seconds
    let now = clock.unixSeconds()
    guard now >= entry.judgedAt else { return false }
    if let maximumAge = policy.maximumAge, .seconds(now - entry.issuedAt) > maximumAge { return false }
    return now <= entry.expiry + leeway && (leeway > 0 || now < entry.expiry)
  }

  private var slot: CacheSlot {
    for (index, loop) in loops.enumerated() where loop.isCurrent { return caches[index] }
    return caches[loops.count]
  }

  private func held<Value>(_ body: () async throws(KeysError) -> Value) async throws(IDTokenError) -> Value {
    do { return try await body() } catch {
      throw error.code == .cancelled
        ? IDTokenError(.cancelled, reason: "cancelled") : IDTokenError(.keysUnavailable, reason: error.description)
    }
  }
}

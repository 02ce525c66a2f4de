public import EventLoop
internal import JOSE
internal import Synchronization

/// Whose ID tokens are accepted, for whom, and how exactly time is taken.
public struct GoogleIDTokenPolicy: Sendable, Hashable {
  /// Google's own name.
  public static let googleIssuer = "https://accounts.google.com"

  /// The issuer with its scheme; tokens may name it without.
  public var issuer: String
  /// The client ids of our apps.
  public var audiences: [String]
  /// The leeway for `exp`, `iat` and `nbf`; at most 300 s.
  public var clockSkew: Duration
  /// How many verified tokens each loop remembers.
  public var rememberedTokensPerLoop: Int

  /// A policy.
  public init(
    issuer: String = Self.googleIssuer, audiences: [String], clockSkew: Duration = .seconds(60),
    rememberedTokensPerLoop: Int = 8192
  ) {
    self.issuer = issuer
    self.audiences = audiences
    self.clockSkew = clockSkew
    self.rememberedTokensPerLoop = rememberedTokensPerLoop
  }

  var verification: VerificationPolicy {
    let prefix = "https://"
    let bare = issuer.hasPrefix(prefix) ? [String(issuer.dropFirst(prefix.count))] : []
    return VerificationPolicy(
      allowedAlgorithms: [.rs256], issuers: [issuer] + bare, audiences: audiences, expiryLeeway: clockSkew,
      issuedAtLeeway: clockSkew, notBeforeLeeway: clockSkew, subjectRule: .leftToCaller)
  }
}

/// Verifies ID tokens of Google.
///
/// Form and claims are judged before any key is looked for; then the signature. A token that was verified is remembered by the
/// loop that did it, for as long as the key set stays the same; its expiry is looked at each time.
public final class GoogleIDTokenVerifier: Sendable {
  private let keys: JWKSCache
  private let policy: GoogleIDTokenPolicy
  private let verification: VerificationPolicy
  private let clock: GoogleClock
  private let loops: [EventLoop]
  /// One per loop, and one for callers elsewhere. Nobody else is at a loop's lock, so it costs next to nothing.
  private let caches: [CacheSlot]

  private final class CacheSlot: Sendable {
    let cache: Mutex<VerifiedTokenCache>
    init(capacity: Int) { cache = Mutex(VerifiedTokenCache(capacity: capacity)) }
  }

  /// A verifier for callers on these loops.
  public init(_ policy: GoogleIDTokenPolicy, keys: JWKSCache, loops: [EventLoop], clock: GoogleClock) {
    self.keys = keys
    self.policy = policy
    self.clock = clock
    self.loops = loops
    verification = policy.verification
    caches = (0...loops.count).map { _ in CacheSlot(capacity: policy.rememberedTokensPerLoop) }
  }

  /// What the token says, if it is valid.
  ///
  /// - Throws: ``IDTokenError``.
  public func verify(_ token: String) async throws(IDTokenError) -> GoogleIDToken {
    let bytes = Array(token.utf8)
    guard bytes.count <= CompactJWS.maximumByteCount else { throw refusal(TokenError(code: .tooLarge)) }
    let began = clock.now()
    let digest = SHA256.digest(bytes)
    if let known = await remembered(digest) { return known }
    let unverified: UnverifiedToken
    do { unverified = try UnverifiedToken(parsing: bytes, policy: verification, now: clock.unixSeconds()) } catch {
      throw refusal(error)
    }
    let (verified, generation) = try await checkSignature(of: unverified, began: began)
    let result = GoogleIDToken(verified, allowedAudiences: policy.audiences)
    slot.cache.withLock { $0.insert(digest, .init(token: result, keyGeneration: generation)) }
    return result
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
      else { throw refusal(error) }
      do { return (try token.verified(by: token.key(in: newer.keys)), newer.generation) } catch { throw refusal(error) }
    }
  }

  private func remembered(_ digest: [UInt8]) async -> GoogleIDToken? {
    guard let entry = slot.cache.withLock({ $0.entry(digest) }), isAlive(entry.token),
      let snapshot = try? await keys.current(), snapshot.generation == entry.keyGeneration
    else { return nil }
    return entry.token
  }

  /// As the full check takes it; what has died since is judged by that again.
  private func isAlive(_ token: GoogleIDToken) -> Bool {
    let leeway = verification.expiryLeeway.components.seconds
    let now = clock.unixSeconds()
    return now <= token.expiry + leeway && (leeway > 0 || now < token.expiry)
  }

  private var slot: CacheSlot {
    for (index, loop) in loops.enumerated() where loop.isCurrent { return caches[index] }
    return caches[loops.count]
  }

  private func refusal(_ error: TokenError) -> IDTokenError { IDTokenError(.rejected, reason: error.description) }

  private func held<Value>(_ body: () async throws(KeysError) -> Value) async throws(IDTokenError) -> Value {
    do { return try await body() } catch {
      throw error.code == .cancelled
        ? IDTokenError(.cancelled, reason: "cancelled") : IDTokenError(.keysUnavailable, reason: error.description)
    }
  }
}

package import AuthDomain
package import AuthStore
package import EventLoop
package import JOSE
internal import JSON
package import Logging
internal import OpenID
internal import PostgreSQL
internal import Synchronization
package import Values

/// The service's own signing keys: read from the database, rotated by plan, held in memory with their private halves.
///
/// Any number of copies rotate the same keys; whoever comes first makes one, the others read it. Who signs reads the keys anew
/// when they were not looked at for half a minute, and waits for that only then.
package final class SigningKeyring: Sendable {
  /// The keys as they were read at one time.
  package final class Snapshot: Sendable {
    /// A key whose private half could be opened; nothing else is used or published, so that nobody who can write to the database
    /// alone can bring in a key of his own.
    package struct Key: Sendable {
      package let times: SigningKeyTimes
      package let key: SigningKey
    }

    package let keys: [Key]
    /// Changes exactly when the published keys do.
    package let generation: UInt64
    package let published: JWKSet
    /// What is served: the key set document, and its entity tag with its quotes.
    package let document: [UInt8]
    package let entityTag: String
    package let readAt: Instant

    init(_ keys: [Key], generation: UInt64, document: [UInt8], readAt: Instant) {
      self.keys = keys
      self.generation = generation
      self.document = document
      published = JWKSet(keys.map(\.key.publicKey))
      entityTag = "\"\(Base64URL.encode(SHA256.digest(document).prefix(18)))\""
      self.readAt = readAt
    }
  }

  private struct State {
    var snapshot: Snapshot?
    var failure: PortFailure?
    var failedAt: Instant?
  }

  /// How long keys are used without a look at the database.
  package static let rereadInterval = Duration.seconds(30)
  private static let pauseAfterFailure = Duration.seconds(1)

  private let store: SigningKeyStore
  private let sealing: SealingKeys
  private let plan: SigningKeyPlan
  private let log: Logger
  private let flight: SingleFlight<Void>
  private let state = Mutex(State())
  let now: @Sendable () -> Instant

  /// Keys that were not read yet.
  ///
  /// - Parameters:
  ///   - store: Where they are kept.
  ///   - sealing: What their private halves are sealed with.
  ///   - policy: How long they live.
  ///   - loop: Where they are read for callers on no loop.
  ///   - log: Who is told of new keys and of failures.
  ///   - now: The time of day.
  package init(
    _ store: SigningKeyStore, sealedWith sealing: SealingKeys, policy: SigningKeyPolicy = .init(), on loop: EventLoop,
    log: Logger, now: @escaping @Sendable () -> Instant
  ) {
    self.store = store
    self.sealing = sealing
    plan = SigningKeyPlan(policy)
    flight = SingleFlight(on: loop)
    self.log = log
    self.now = now
  }

  package var policy: SigningKeyPolicy { plan.policy }

  // MARK: Using

  /// The keys as they were read last, however long ago; nil before the first time.
  package var latest: Snapshot? { state.withLock { $0.snapshot } }

  /// The keys, if they were looked at of late.
  package var atHand: Snapshot? {
    let now = now()
    return state.withLock { state in
      guard let snapshot = state.snapshot else { return nil }
      return Self.isWithin(Self.rereadInterval, now, since: snapshot.readAt) ? snapshot : nil
    }
  }

  /// The keys, read anew if they were not looked at of late; those from before while they cannot be read.
  ///
  /// - Throws: ``AuthDomain/PortFailure`` when there are none.
  package func current() async throws(PortFailure) -> Snapshot {
    if let atHand { return atHand }
    if mayTry() { try await read() }
    let (snapshot, failure) = state.withLock { ($0.snapshot, $0.failure) }
    guard let snapshot else { throw failure ?? PortFailure(.unavailable, reason: "keys_not_read") }
    return snapshot
  }

  /// The key to sign with now.
  ///
  /// - Throws: ``AuthDomain/PortFailure`` when there is none, or when another one may have taken its place unnoticed.
  package func active() async throws(PortFailure) -> SigningKey {
    let snapshot = try await current()
    let now = now()
    guard plan.maySign(withKeysReadAt: snapshot.readAt, at: now) else {
      throw PortFailure(.unavailable, reason: "signing_keys_too_old")
    }
    guard let key = active(of: snapshot, at: now) else { throw PortFailure(.unavailable, reason: "no_signing_key") }
    return key.key
  }

  func active(of snapshot: Snapshot, at now: Instant) -> Snapshot.Key? {
    zip(snapshot.keys, plan.states(of: snapshot.keys.map(\.times), at: now)).first { $0.1 == .active }?.0
  }

  // MARK: Reading

  /// Reads the keys, and does what the plan says is due.
  ///
  /// - Throws: ``AuthDomain/PortFailure`` with `cancelled`. What else fails is kept in ``failure``.
  package func read() async throws(PortFailure) {
    guard await flight.join({ await self.readOnce() }) != nil else { throw .cancelled }
  }

  /// Why the keys could not be read last time, or nil.
  package var failure: PortFailure? { state.withLock { $0.failure } }

  private func mayTry() -> Bool {
    let now = now()
    return state.withLock { state in
      state.failedAt.map { !Self.isWithin(Self.pauseAfterFailure, now, since: $0) } ?? true
    }
  }

  /// False as well when the clock was set back.
  private static func isWithin(_ limit: Duration, _ now: Instant, since then: Instant) -> Bool {
    let age = now.duration(since: then)
    return age >= .zero && age < limit
  }

  private func readOnce() async {
    let began = now()
    do throws(PortFailure) {
      adopt(try await rotated(), readAt: began)
    } catch {
      state.withLock { ($0.failure, $0.failedAt) = (error, began) }
      log.error("signing keys not read", metadata: ["cause": "\(error)"])
    }
  }

  private func rotated() async throws(PortFailure) -> [Snapshot.Key] {
    do {
      var stored = try await store.all()
      // Whoever cannot open the keys that there are must not make others that nobody else can open.
      var keys = try open(stored)
      // Each turn another copy may have been faster; then its key is read, and nothing is left to do.
      for _ in 0..<4 {
        let actions = plan.actions(for: keys.map(\.times), at: now())
        guard !actions.isEmpty else { break }
        for action in actions { try await perform(action) }
        stored = try await store.all()
        keys = try open(stored)
      }
      try await rewrap(stored)
      return keys
    } catch let error as DatabaseError {
      throw PortFailure(error)
    } catch let error as PortFailure {
      throw error
    } catch {
      throw PortFailure(.unavailable, reason: "\(error)")
    }
  }

  private func perform(_ action: SigningKeyAction) async throws {
    switch action {
    case .create(let times):
      let key = try Self.named(SigningKey.generate(.es256).privatePEM())
      let box = try sealing.seal(Array(key.privatePEM().utf8), for: Self.purpose(key.keyID))
      let isOurs = try await store.add(
        StoredSigningKey(
          times: times, keyID: key.keyID, publicKey: JSONValue.object(key.publicKey.jwk).description,
          sealedPrivateKey: box.bytes, sealedWith: box.keyID))
      guard isOurs else { return }
      log.notice(
        "signing key made",
        metadata: [
          "kid": "\(key.keyID)", "generation": "\(times.generation)", "signs_from": "\(times.activatesAt.seconds)",
        ])
    case .remove(let generations):
      try await store.remove(generations)
      log.notice("signing keys forgotten", metadata: ["generations": "\(generations)"])
    }
  }

  /// What is sealed with another key than the first is sealed anew.
  private func rewrap(_ keys: [StoredSigningKey]) async throws {
    for key in keys where key.sealedWith != sealing.sealingKeyID {
      let bytes = try sealing.open(SealedBox(bytes: key.sealedPrivateKey), for: Self.purpose(key.keyID))
      let box = try sealing.seal(bytes, for: Self.purpose(key.keyID))
      try await store.rewrap(key.times.generation, sealedWith: key.sealedWith, as: box.bytes, with: box.keyID)
      log.notice("signing key sealed anew", metadata: ["kid": "\(key.keyID)", "sealed_with": "\(box.keyID)"])
    }
  }

  private func open(_ stored: [StoredSigningKey]) throws(PortFailure) -> [Snapshot.Key] {
    var keys: [Snapshot.Key] = []
    for stored in stored {
      let key: SigningKey
      do {
        let pem = try sealing.open(SealedBox(bytes: stored.sealedPrivateKey), for: Self.purpose(stored.keyID))
        key = try Self.named(String(decoding: pem, as: UTF8.self))
      } catch { throw PortFailure(.rejected, reason: "signing key \(stored.keyID): \(error)") }
      // Its name follows from it.
      guard key.keyID == stored.keyID else {
        throw PortFailure(.rejected, reason: "signing key \(stored.keyID): its private half is another key's")
      }
      keys.append(.init(times: stored.times, key: key))
    }
    return keys
  }

  /// A key named by the first 96 bits of its thumbprint (RFC 7638): every token carries the name, and every call a token.
  private static func named(_ pem: String) throws(KeyError) -> SigningKey {
    let keyID = String(try SigningKey(pem: pem).keyID.prefix(16))
    return try SigningKey(pem: pem, keyID: keyID)
  }

  private static func purpose(_ keyID: String) -> String { "auth.signing_key \(keyID)" }

  private func adopt(_ keys: [Snapshot.Key], readAt: Instant) {
    let document = JWKSet(keys.map(\.key.publicKey)).encoded()
    state.withLock { state in
      (state.failure, state.failedAt) = (nil, nil)
      let former = state.snapshot
      let generation = (former?.generation ?? 0) + (former?.document == document ? 0 : 1)
      state.snapshot = Snapshot(keys, generation: generation, document: document, readAt: readAt)
    }
  }
}

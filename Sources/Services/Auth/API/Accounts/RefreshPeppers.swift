internal import AuthDomain
internal import AuthStore
internal import JOSE
internal import Logging
internal import PostgreSQL
internal import Synchronization
internal import Values

/// What refresh tokens are made with and read with.
struct RefreshPepper: Sendable {
  /// What they are made with.
  let active: [UInt8]
  /// What they may have been made with, the active one among them and first.
  let all: [[UInt8]]

  /// Peppers.
  init(active: [UInt8], others: [[UInt8]] = []) {
    self.active = active
    all = [active] + others
  }
}

/// The peppers of refresh tokens: sealed in the database under the key-encryption key, known in the clear to this process alone, and
/// replaced by and by.
///
/// They are looked at every minute, which is also when a new one is made, one is forgotten, and one that another key-encryption key
/// has sealed is sealed anew. A pepper is there half an hour before it is used, so that every copy has read it when the first token
/// of it comes.
final class RefreshPeppers: Sendable {
  /// How often they are read.
  static let rereadInterval = Duration.seconds(60)
  /// For how long they may be used when they cannot be read: well before one comes into use that this copy does not know.
  static let patience = PepperPlan.publishedAhead * 0.5

  private struct Known {
    var peppers: [(times: PepperTimes, bytes: [UInt8])]
    var readAt: Instant
  }

  private let store: RefreshPepperStore
  private let sealing: SealingKeys
  private let plan: PepperPlan
  private let log: Logger
  private let now: @Sendable () -> Instant
  private let known = Mutex<Known?>(nil)

  /// Peppers that were not read yet.
  init(
    _ store: RefreshPepperStore, sealedWith sealing: SealingKeys, _ plan: PepperPlan, log: Logger,
    now: @escaping @Sendable () -> Instant
  ) {
    self.store = store
    self.sealing = sealing
    self.plan = plan
    self.log = log
    self.now = now
  }

  /// The peppers, read if they were not for too long.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` when they cannot be.
  func pepper() async throws(DatabaseError) -> RefreshPepper {
    let now = now()
    if let known = known.withLock({ $0 }), abs(now.duration(since: known.readAt)) < Self.patience { return choose(known, now) }
    return choose(try await read(), self.now())
  }

  /// Reads them, and does what is due.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError``; with ``SealingError`` as its text when one does not open.
  @discardableResult
  func refresh() async throws(DatabaseError) -> Bool {
    _ = try await read()
    return true
  }

  private func read() async throws(DatabaseError) -> Known {
    let readAt = now()
    var stored = try await store.all()
    // Whoever cannot open those that there are must not make others that nobody else can open.
    var peppers = try open(stored)
    // Another copy may have been faster; then its own is read.
    for _ in 0..<4 {
      let times = peppers.map(\.times)
      let expired = plan.expired(of: times, at: readAt)
      let next = plan.next(after: times, at: readAt)
      guard next != nil || !expired.isEmpty else { break }
      if !expired.isEmpty {
        try await store.remove(expired)
        log.notice("peppers forgotten", metadata: ["generations": "\(expired)"])
      }
      if let next { try await make(next) }
      stored = try await store.all()
      peppers = try open(stored)
    }
    for pepper in stored where pepper.sealedWith != sealing.sealingKeyID { try await rewrap(pepper) }
    let read = Known(peppers: peppers, readAt: readAt)
    known.withLock { $0 = read }
    return read
  }

  private func choose(_ known: Known, _ now: Instant) -> RefreshPepper {
    let active = plan.active(of: known.peppers.map(\.times), at: now)
    let (first, others) = known.peppers.reduce(into: (first: [UInt8](), others: [[UInt8]]())) { found, pepper in
      if pepper.times.generation == active?.generation {
        found.first = pepper.bytes
      } else {
        found.others.insert(pepper.bytes, at: 0)
      }
    }
    return RefreshPepper(active: first, others: others)
  }

  // MARK: Sealing

  private func make(_ times: PepperTimes) async throws(DatabaseError) {
    let box = try Self.sealed { () throws(SealingError) in
      try sealing.seal(SecureRandom.bytes(32), for: Self.purpose(times.generation))
    }
    guard try await store.add(StoredPepper(times: times, sealed: box.bytes, sealedWith: box.keyID)) else { return }
    log.notice(
      "pepper made", metadata: ["generation": "\(times.generation)", "used_from": "\(times.activatesAt.seconds)"])
  }

  private func rewrap(_ pepper: StoredPepper) async throws(DatabaseError) {
    let purpose = Self.purpose(pepper.times.generation)
    let box = try Self.sealed { () throws(SealingError) in
      try sealing.seal(sealing.open(SealedBox(bytes: pepper.sealed), for: purpose), for: purpose)
    }
    try await store.rewrap(pepper, as: box.bytes, with: box.keyID)
    log.notice(
      "pepper sealed anew", metadata: ["generation": "\(pepper.times.generation)", "sealed_with": "\(box.keyID)"])
  }

  private func open(_ stored: [StoredPepper]) throws(DatabaseError) -> [(times: PepperTimes, bytes: [UInt8])] {
    var peppers: [(times: PepperTimes, bytes: [UInt8])] = []
    for pepper in stored {
      let bytes = try Self.sealed { () throws(SealingError) in
        try sealing.open(SealedBox(bytes: pepper.sealed), for: Self.purpose(pepper.times.generation))
      }
      peppers.append((pepper.times, bytes))
    }
    return peppers
  }

  private static func sealed<Value>(_ body: () throws(SealingError) -> Value) throws(DatabaseError) -> Value {
    do { return try body() } catch { throw DatabaseError(.queryFailed, "a pepper of refresh tokens: \(error)") }
  }

  private static func purpose(_ generation: Int) -> String { "auth.refresh_pepper \(generation)" }
}

private func abs(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }

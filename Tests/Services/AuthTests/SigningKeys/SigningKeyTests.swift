import AuthAPI
import AuthDomain
import AuthStore
import EventLoop
import JOSE
import JSON
import Logging
import Outbound
import PostgreSQL
import ServiceKit
import TestSupport
import Testing
import Values

@Suite("Signing keys", .serialized)
struct SigningKeyTests {
  private static let old = "old:" + Base64.encode([UInt8](repeating: 1, count: 32))
  private static let new = "new:" + Base64.encode([UInt8](repeating: 2, count: 32))
  private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private static func keyring(
    _ database: Database, _ group: EventLoopGroup, _ clock: VirtualClock, sealing: String = old
  ) throws -> SigningKeyring {
    SigningKeyring(
      SigningKeyStore(database), sealedWith: try SealingKeys(parsing: sealing), on: group.loops[0], log: silent,
      now: { Instant(seconds: 0).advanced(by: clock.wall) })
  }

  private static func claims(at now: Instant) -> AccessTokenClaims {
    AccessTokenClaims(
      user: UserID(high: 1, low: .max), session: SessionID(high: .max, low: 4), app: "default", issuedAt: now,
      expiresAt: now.advanced(by: .seconds(300)), authenticatedAt: now)
  }

  /// Three instances as three processes have them: each its own connections and memory.
  private static func withInstances(
    _ body: @escaping @Sendable ([SigningKeyring], VirtualClock, Database, BrokerDatabase) async throws -> Void
  ) async throws {
    try await LimitStoreTests.withStore { first, group, prepared in
      let clock = VirtualClock()
      var databases = [first]
      for _ in 0..<2 {
        databases.append(try Database(try DatabaseConfiguration(prepared.servingURL), group: group, log: silent))
      }
      for database in databases { await database.waitUntilReady() }
      let result: Result<Void, any Error>
      do {
        let instances = try databases.map { try keyring($0, group, clock) }
        result = .success(try await body(instances, clock, first, prepared))
      } catch { result = .failure(error) }
      for database in databases.dropFirst() { await database.shutDown() }
      try result.get()
    }
  }

  private static func readAll(_ instances: [SigningKeyring]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for instance in instances { tasks.addTask { try await instance.read() } }
      try await tasks.waitForAll()
    }
    for instance in instances { #expect(instance.failure == nil) }
  }

  @Test("AUTH-M3: three instances that race over the first key and over a rotation make one key each time")
  func race() async throws {
    try await Self.withInstances { instances, clock, _, prepared in
      try await Self.readAll(instances)
      let generations: [Int32] = try await prepared.values("select generation from auth.signing_key order by 1")
      #expect(generations == [1])
      for rotation in 1...5 {
        let active = try await instances[0].active().keyID
        clock.advance(by: .seconds(30 * 86_400 - 3600))
        try await Self.readAll(instances)
        // Published, and not used.
        for instance in instances {
          #expect(try await instance.active().keyID == active)
          #expect(instance.latest?.published.keys.count == 2)
        }
        clock.advance(by: .seconds(3600))
        let next = Set(try await Self.activeKeys(instances))
        #expect(next.count == 1 && !next.contains(active), "rotation \(rotation)")
        #expect(instances.allSatisfy { $0.latest?.published[active] != nil })
        clock.advance(by: .seconds(900))
        try await Self.readAll(instances)
        #expect(instances.allSatisfy { $0.latest?.published.keys.count == 1 && $0.latest?.published[active] == nil })
        clock.advance(by: .zero - .seconds(900))
      }
      let documents = Set(instances.compactMap { $0.latest?.document })
      #expect(documents.count == 1)
    }
  }

  private static func activeKeys(_ instances: [SigningKeyring]) async throws -> [String] {
    try await withThrowingTaskGroup(of: String.self) { tasks in
      for instance in instances { tasks.addTask { try await instance.active().keyID } }
      return try await tasks.reduce(into: []) { $0.append($1) }
    }
  }

  @Test("AUTH-M3: over two months of tokens every one is checked by the keys published then, and by those an old cache holds")
  func everyTokenIsChecked() async throws {
    try await Self.withInstances { instances, clock, _, _ in
      var cached: [(at: Duration, keys: JWKSet)] = []
      var kids: Set<String> = []
      let policy = VerificationPolicy(
        allowedAlgorithms: [.es256], issuers: ["https://auth.example"], audiences: ["parley"], expiryLeeway: .seconds(300))
      var hour = 0
      while hour < 24 * 62 {
        let instance = instances[hour % 3]
        let now = instance.latest.map { _ in Instant(seconds: 0).advanced(by: clock.wall) } ?? Instant(seconds: FakeGoogle.now)
        let signer = AccessTokenSigner(instance, issuer: "https://auth.example", audience: "parley")
        let token = Array(try await signer.sign(Self.claims(at: now)).utf8)
        let published = try #require(instances[hour % 3].latest?.published)
        let verified = try TokenVerifier.verify(token, keys: published, policy: policy, now: now.seconds)
        kids.insert(verified.keyID)
        // A verifier may go on with a set that it fetched up to 300 s ago.
        for old in cached where clock.wall - old.at <= .seconds(300) {
          _ = try TokenVerifier.verify(token, keys: old.keys, policy: policy, now: now.seconds)
        }
        cached = cached.suffix(3) + [(clock.wall, published)]
        // Dense around the changes, sparse elsewhere.
        let sinceStart = Int((clock.wall - .seconds(FakeGoogle.now)).components.seconds)
        let intoPeriod = sinceStart % (30 * 86_400)
        let isNearChange = intoPeriod > 30 * 86_400 - 7200 || (sinceStart > 86_400 && intoPeriod < 3600)
        clock.advance(by: .seconds(isNearChange ? 100 : 6 * 3600 - 61))
        if !isNearChange { cached = [] }
        hour += isNearChange ? 0 : 6
        if sinceStart > 62 * 86_400 { break }
      }
      #expect(kids.count == 3)
    }
  }

  @Test("Keys are sealed anew under the first key-encryption key, and open with it alone from then on")
  func rewrap() async throws {
    try await LimitStoreTests.withStore { database, group, prepared in
      let clock = VirtualClock()
      let before = try Self.keyring(database, group, clock)
      let kid = try await before.active().keyID
      let boxes: [[UInt8]] = try await prepared.values("select sealed_private_key from auth.signing_key")
      #expect(boxes.count == 1 && !String(decoding: boxes[0], as: UTF8.self).contains("PRIVATE"))
      let both = try Self.keyring(database, group, clock, sealing: "\(Self.new),\(Self.old)")
      #expect(try await both.active().keyID == kid)
      #expect(try await prepared.values("select sealed_with from auth.signing_key") == ["new"])
      #expect(try await Self.keyring(database, group, clock, sealing: Self.new).active().keyID == kid)
      // Who has the old one only can neither sign nor make keys that the others could not open.
      let left = try Self.keyring(database, group, clock)
      clock.advance(by: .seconds(40 * 86_400))
      await #expect(throws: PortFailure.self) { try await left.active() }
      #expect(left.failure?.kind == .rejected)
      #expect(try await prepared.value("select count(*) from auth.signing_key") == Int64(1))
    }
  }

  @Test("A key that was put into the table, moved to another name or changed is neither used nor published")
  func planted() async throws {
    try await LimitStoreTests.withStore { database, group, prepared in
      let clock = VirtualClock()
      let keyring = try Self.keyring(database, group, clock)
      let kid = try await keyring.active().keyID
      let impostor = try SigningKey.generate(.es256)
      let others = try SealingKeys(parsing: "old:" + Base64.encode([UInt8](repeating: 9, count: 32)))
      let forged = try others.seal(Array(impostor.privatePEM().utf8), for: "auth.signing_key \(impostor.keyID)").bytes
      for change: PostgreSQL.Query in [
        """
        insert into auth.signing_key select 2, \(impostor.keyID), created_at, activates_at, public_key, \(forged), sealed_with
        from auth.signing_key
        """,
        """
        insert into auth.signing_key select 2, 'moved', created_at, activates_at, public_key, sealed_private_key, sealed_with
        from auth.signing_key
        """,
        """
        insert into auth.signing_key select 2, \(impostor.keyID), created_at, activates_at, public_key,
          set_byte(sealed_private_key, 40, get_byte(sealed_private_key, 40) # 1), sealed_with
        from auth.signing_key
        """,
      ] {
        try await database.execute(change)
        try await keyring.read()
        #expect(keyring.failure?.kind == .rejected)
        #expect(keyring.latest?.published.keys.map(\.keyID) == [kid])
        try await database.execute("delete from auth.signing_key where generation = 2")
      }
      try await keyring.read()
      #expect(keyring.failure == nil)
    }
  }

  @Test("While the database is away the keys go on signing for an hour, and no longer")
  func databaseAway() async throws {
    try await LimitStoreTests.withStore { database, group, prepared in
      let clock = VirtualClock()
      let keyring = try Self.keyring(database, group, clock)
      _ = try await keyring.active()
      try await prepared.script("alter table auth.signing_key rename to gone")
      clock.advance(by: .seconds(3599))
      _ = try await keyring.active()
      #expect(keyring.failure != nil)
      clock.advance(by: .seconds(1))
      await #expect(throws: PortFailure.self) { try await keyring.active() }
      #expect(try await keyring.current().published.keys.count == 1)
      try await prepared.script("alter table auth.gone rename to signing_key")
      clock.advance(by: .seconds(2))
      _ = try await keyring.active()
    }
  }

  @Test("A token that would live longer than the plan knows of is not signed")
  func longLife() async throws {
    try await LimitStoreTests.withStore { database, group, _ in
      let clock = VirtualClock()
      let signer = AccessTokenSigner(try Self.keyring(database, group, clock), issuer: "i", audience: "a")
      var claims = Self.claims(at: Instant(seconds: FakeGoogle.now))
      _ = try await signer.sign(claims)
      claims.expiresAt = claims.expiresAt.advanced(by: .microseconds(1))
      await #expect(throws: PortFailure.self) { try await signer.sign(claims) }
    }
  }

  @Test("The serving role may neither rename a key nor change when it signs")
  func grants() async throws {
    try await LimitStoreTests.withStore { database, group, _ in
      _ = try await Self.keyring(database, group, VirtualClock()).active()
      for change: PostgreSQL.Query in [
        "update auth.signing_key set activates_at = created_at", "update auth.signing_key set key_id = 'x'",
        "update auth.signing_key set public_key = '{}'", "truncate auth.signing_key",
      ] {
        let error = await #expect(throws: DatabaseError.self) { try await database.execute(change) }
        #expect(error?.sqlState?.description.contains("42501") == true)
      }
    }
  }

  // MARK: Served

  @Test("AUTH-M3: the key set is served with max-age and an entity tag, and not sent again to who has it")
  func route() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { broker in
        let response = try await broker.get("/.well-known/jwks.json")
        #expect(response.status == 200 && response.headers["cache-control"] == "public, max-age=300")
        #expect(response.headers["content-type"] == "application/json")
        let tag = try #require(response.headers["etag"])
        let set = try JWKSet(parsing: response.body)
        #expect(set.keys.count == 1 && set.rejections.isEmpty && set.keys[0].algorithm == .es256)
        let members = try #require(try JSONParser.parse(response.body).object?["keys"]?.array?.first?.object)
        #expect(members.members.map(\.name).sorted() == ["alg", "crv", "kid", "kty", "use", "x", "y"])
        for field in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
          let again = try await broker.get("/.well-known/jwks.json", headers: ["If-None-Match": field])
          #expect(again.status == 304 && again.body.isEmpty && again.headers["etag"] == tag, "\(field)")
        }
        for field in ["\"other\"", "", String(tag.dropLast())] {
          #expect(try await broker.get("/.well-known/jwks.json", headers: ["If-None-Match": field]).status == 200, "\(field)")
        }
        #expect(try await broker.get("/.well-known/jwks.json", method: .head).body.isEmpty)
        // Another key, another tag.
        broker.clock.advance(by: .seconds(30 * 86_400))
        let later = try await broker.get("/.well-known/jwks.json", headers: ["If-None-Match": tag])
        #expect(later.status == 200 && later.headers["etag"] != tag)
        #expect(try JWKSet(parsing: later.body).keys.count == 2)
      }
    }
  }

  @Test("A start with another key-encryption key is refused and names the setting, not the key")
  func wrongKeyAtStart() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, waitsForKeys: false) { _ in }
      let changes = ["PARLEY_AUTH_KEY_ENCRYPTION_KEY": Base64.encode([UInt8](repeating: 5, count: 32))]
      let error = await #expect(throws: ServiceFailure.self) {
        try await BrokerFixture.with(database, settings: changes, waitsForKeys: false) { _ in }
      }
      #expect(error?.status == .configuration)
      #expect("\(error.map(String.init(describing:)) ?? "")".contains("PARLEY_AUTH_KEY_ENCRYPTION_KEY"))
      #expect(!"\(error.map(String.init(describing:)) ?? "")".contains(Base64.encode([UInt8](repeating: 5, count: 30))))
    }
  }
}

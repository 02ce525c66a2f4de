import EventLoop
import JOSE
import JSON
import PostgreSQL
import RPC
import Synchronization
import Telemetry
import TestAPI
import Testing
import Values

@testable import ServiceKit

@Suite("Sessions")
struct SessionAuthenticatorTests {
  private static let now: Int64 = 1_800_000_000
  private static let user = UUID(high: 1, low: 2)
  private static let session = UUID(high: 3, low: 4)

  // MARK: Who answers

  private final class Keys: SessionKeys {
    struct State {
      var set: SessionKeySet
      var isAtHand = true
      var isThere = true
      var newer: SessionKeySet?
      var asked = 0
    }

    let state: Mutex<State>
    init(_ key: SigningKey) { state = Mutex(State(set: .init(keys: JWKSet([key.publicKey]), generation: 1))) }

    var generationAtHand: UInt64? { state.withLock { $0.isAtHand && $0.isThere ? $0.set.generation : nil } }

    func current() async throws(SessionKeysUnavailable) -> SessionKeySet {
      let set = state.withLock { state in
        state.asked += 1
        return state.isThere ? state.set : nil
      }
      guard let set else { throw SessionKeysUnavailable("away") }
      return set
    }

    func newer(than set: SessionKeySet) async throws(SessionKeysUnavailable) -> SessionKeySet? {
      state.withLock { state in
        if let newer = state.newer { state.set = newer }
        return state.newer
      }
    }
  }

  private final class Feed: RevocationFeed {
    struct State {
      var revision: UInt64? = 1
      var ended: [UUID: SessionEnding] = [:]
      var answer: Result<SessionEnding?, RevocationsUnavailable> = .success(nil)
      var asked = 0
      var looked = 0
    }

    let state = Mutex(State())
    var revision: UInt64? { state.withLock { $0.revision } }
    func ending(of session: UUID) -> SessionEnding? {
      state.withLock { state in
        state.looked += 1
        return state.ended[session]
      }
    }
    func ask(_ session: UUID) async throws(RevocationsUnavailable) -> SessionEnding? {
      try state.withLock { state in
        state.asked += 1
        return state.answer
      }.get()
    }
  }

  private final class Door: Sendable {
    let key: SigningKey
    let keys: Keys
    let feed = Feed()
    let clock = Mutex<Int64>(SessionAuthenticatorTests.now)
    let metrics = PrometheusRegistry()
    let remembered: Int
    private let made = Mutex<SessionAuthenticator?>(nil)

    init(remembered: Int = 64) throws {
      key = try SigningKey.generate(.es256, keyID: "k1")
      keys = Keys(key)
      self.remembered = remembered
    }

    func makeAuthenticator() -> SessionAuthenticator {
      SessionAuthenticator(
        SessionPolicy(issuer: "https://auth.example", audience: "parley"), keys: keys, revocations: feed,
        rememberedPerLoop: remembered, loops: [],
        // What it makes is its own, and must not keep it.
        clock: WallClock { [unowned self] in .seconds(clock.withLock { $0 }) }, metrics: metrics)
    }

    var authenticator: SessionAuthenticator {
      made.withLock { made in
        if let made { return made }
        let new = makeAuthenticator()
        made = new
        return new
      }
    }

    func token(
      _ changes: [(String, JSONValue?)] = [], header: JSONObject = ["typ": "at+jwt"], key: SigningKey? = nil
    ) throws -> String {
      var claims: JSONObject = [
        "iss": "https://auth.example", "aud": "parley", "sub": .string(SessionAuthenticatorTests.user.description),
        "sid": .string(SessionAuthenticatorTests.session.description), "app": "default", "iat": 1_800_000_000,
        "exp": 1_800_000_300, "auth_time": 1_799_999_000, "jti": "x",
      ]
      for (name, value) in changes { claims[name] = value }
      return try (key ?? self.key).sign(header: header, claims: claims)
    }

    /// As the policy of access asks.
    @discardableResult
    func call(_ fields: [String]) async throws -> (caller: Caller?, atOnce: Bool) {
      var metadata = Metadata()
      for field in fields { metadata.append("authorization", field) }
      let call = FakeCall(EchoService.Methods.guarded.info, metadata: metadata)
      let atOnce = try authenticator.admitAtOnce(call)
      if !atOnce { try await authenticator.authenticate(call) }
      return (try CallContext(call).caller, atOnce)
    }

    func refusal(_ fields: [String]) async -> RPCError? {
      do {
        try await call(fields)
        return nil
      } catch { return error as? RPCError }
    }
  }

  // MARK: Tokens

  @Test("B-48: a valid access token tells the handler who calls")
  func valid() async throws {
    let door = try Door()
    let caller = try #require(try await door.call(["Bearer \(door.token())"]).caller)
    #expect(caller.userID == Self.user && caller.sessionID == Self.session && caller.app == "default")
    #expect(caller.authenticatedAt == 1_799_999_000)
    #expect(try await door.call(["bEaReR  \(door.token()) "]).caller == caller)
  }

  @Test(
    "B-48: no credential, or not exactly one bearer token, is MISSING_AUTHORIZATION",
    arguments: [[], ["Bearer"], ["Bearer a b"], ["Basic YTpi"], ["token"], ["Bearer x", "Bearer x"]] as [[String]])
  func missing(fields: [String]) async throws {
    let error = try #require(await Door().refusal(fields))
    #expect(error.code == .unauthenticated && error.reason == "MISSING_AUTHORIZATION")
  }

  @Test("Two authorization fields are refused even if each is valid and remembered")
  func twoFields() async throws {
    let door = try Door()
    let field = "Bearer \(try door.token())"
    try await door.call([field])
    #expect(await door.refusal([field, field])?.reason == "MISSING_AUTHORIZATION")
  }

  struct Bad: Sendable, CustomStringConvertible {
    let description: String
    var changes: [(String, JSONValue?)] = []
    var header: JSONObject = ["typ": "at+jwt"]
    var reason = "INVALID_ACCESS_TOKEN"

    static let all: [Bad] = [
      Bad(description: "an ID token's type", header: [:]), Bad(description: "another type", header: ["typ": "JWT"]),
      Bad(description: "a type in capitals", header: ["typ": "AT+JWT"]),
      Bad(description: "another issuer", changes: [("iss", "https://auth.example.evil")]),
      Bad(description: "another audience", changes: [("aud", "billing")]),
      Bad(description: "no audience", changes: [("aud", nil)]), Bad(description: "no subject", changes: [("sub", nil)]),
      Bad(description: "a subject that is no account", changes: [("sub", "ana")]),
      Bad(description: "no session", changes: [("sid", nil)]),
      Bad(description: "a session that is none", changes: [("sid", "1")]),
      Bad(description: "no app", changes: [("app", nil)]), Bad(description: "an empty app", changes: [("app", "")]),
      Bad(description: "no sign-in time", changes: [("auth_time", nil)]),
      Bad(description: "no expiry", changes: [("exp", nil)]), Bad(description: "no issue time", changes: [("iat", nil)]),
      Bad(description: "issued 61 s ahead", changes: [("iat", 1_800_000_061)]),
      Bad(description: "expired 61 s ago", changes: [("exp", 1_799_999_939)], reason: "ACCESS_TOKEN_EXPIRED"),
    ]
  }

  @Test("What is no access token of ours is refused with its reason", arguments: Bad.all)
  func bad(_ bad: Bad) async throws {
    let door = try Door()
    let error = await door.refusal(["Bearer \(try door.token(bad.changes, header: bad.header))"])
    #expect(error?.code == .unauthenticated && error?.reason == bad.reason)
    #expect(error?.details.contains { if case .errorInfo(_, "parley.auth.v1", _) = $0 { true } else { false } } == true)
  }

  @Test("A token is good until 60 s after its expiry, remembered or not")
  func expiry() async throws {
    for isRemembered in [false, true] {
      let door = try Door()
      let field = "Bearer \(try door.token())"
      if isRemembered { try await door.call([field]) }
      door.clock.withLock { $0 = Self.now + 360 }
      #expect(try await door.call([field]).atOnce == isRemembered)
      door.clock.withLock { $0 = Self.now + 361 }
      #expect(await door.refusal([field])?.reason == "ACCESS_TOKEN_EXPIRED")
    }
  }

  @Test("A token of another key, or with a changed bit anywhere, is refused, also after the right one was remembered")
  func forged() async throws {
    let door = try Door()
    let good = try door.token()
    try await door.call(["Bearer \(good)"])
    let impostor = try SigningKey.generate(.es256, keyID: "k1")
    #expect(await door.refusal(["Bearer \(try door.token(key: impostor))"])?.reason == "INVALID_ACCESS_TOKEN")
    for index in stride(from: 0, to: good.utf8.count, by: 7) {
      var bytes = Array(good.utf8)
      bytes[index] = bytes[index] == 0x41 ? 0x42 : 0x41
      let refusal = await door.refusal(["Bearer \(String(decoding: bytes, as: UTF8.self))"])
      #expect(refusal?.code == .unauthenticated, "byte \(index)")
    }
    #expect(
      String(decoding: door.metrics.exposition(), as: UTF8.self).contains(
        "parley_session_refused_total{cause=\"signature_invalid\"}"))
  }

  // MARK: Remembering

  @Test("A token seen before is admitted without waiting and without a look at the keys")
  func remembered() async throws {
    let door = try Door()
    let field = "Bearer \(try door.token())"
    #expect(try await !door.call([field]).atOnce)
    for _ in 0..<100 { #expect(try await door.call([field]).atOnce) }
    #expect(door.keys.state.withLock { $0.asked } == 1)
    // Until something ends, nobody asks whether this session has.
    #expect(door.feed.state.withLock { $0.looked } == 1)
  }

  @Test("With another key set every token is verified again; one whose key was withdrawn is refused")
  func withdrawnKey() async throws {
    let door = try Door()
    let field = "Bearer \(try door.token())"
    try await door.call([field])
    let other = try SigningKey.generate(.es256, keyID: "k2")
    door.keys.state.withLock { $0.set = .init(keys: JWKSet([door.key.publicKey, other.publicKey]), generation: 2) }
    #expect(try await !door.call([field]).atOnce)
    #expect(try await door.call([field]).atOnce)
    door.keys.state.withLock { $0.set = .init(keys: JWKSet([other.publicKey]), generation: 3) }
    #expect(await door.refusal([field])?.reason == "INVALID_ACCESS_TOKEN")
  }

  @Test("A token of a key that is newer than the set is verified once that is fetched")
  func newerKey() async throws {
    let door = try Door()
    let other = try SigningKey.generate(.es256, keyID: "k2")
    let field = "Bearer \(try door.token(key: other))"
    #expect(await door.refusal([field])?.reason == "INVALID_ACCESS_TOKEN")
    door.keys.state.withLock { $0.newer = .init(keys: JWKSet([other.publicKey]), generation: 2) }
    #expect(try await door.call([field]).caller?.userID == Self.user)
    #expect(try await door.call([field]).atOnce)
  }

  @Test(
    "B-48: a remembered token is judged anew where the clock was set back, and taken again when that is right",
    arguments: ["iat", "nbf"])
  func rememberedTokenOfTheFuture(claim: String) async throws {
    let door = try Door()
    let field = "Bearer \(try door.token([(claim, .number(JSONNumber(Self.now)))]))"
    #expect(try await !door.call([field]).atOnce)
    #expect(try await door.call([field]).atOnce)
    door.clock.withLock { $0 -= 60 }
    #expect(try await !door.call([field]).atOnce)
    #expect(try await door.call([field]).atOnce)
    door.clock.withLock { $0 -= 1 }
    #expect(await door.refusal([field])?.reason == "INVALID_ACCESS_TOKEN")
    door.clock.withLock { $0 += 61 }
    #expect(try await door.call([field]).caller != nil)
  }

  @Test("Without keys the answer is UNAVAILABLE, not a refusal of the token")
  func noKeys() async throws {
    let door = try Door()
    door.keys.state.withLock { $0.isThere = false }
    let error = await door.refusal(["Bearer \(try door.token())"])
    #expect(error?.code == .unavailable && error?.reason == "KEYS_UNAVAILABLE" && error?.retryAfter == .seconds(1))
  }

  @Test("However many tokens are shown, only so many are remembered")
  func bounded() async throws {
    let door = try Door(remembered: 8)
    let cache = RememberedTokens(capacity: 8)
    let caller = Caller(userID: Self.user, sessionID: Self.session, app: "a", authenticatedAt: 0)
    for number in 0..<1000 { cache.remember("\(number)", caller, expiry: Self.now, judgedAt: 0, generation: 1, revision: 1) }
    #expect(cache.count <= 8)
    #expect(cache.caller("999", at: Self.now, 60, 1, 1) { _ in nil } == caller)
    #expect(cache.caller("0", at: Self.now, 60, 1, 1) { _ in nil } == nil)
    for number in 0..<20 { try await door.call(["Bearer \(door.token([("jti", .string("\(number)"))]))"]) }
  }

  // MARK: Ended sessions

  @Test("An ended session is refused with the reason of its end, remembered token or not", arguments: SessionEnding.allCases)
  func ended(_ ending: SessionEnding) async throws {
    let door = try Door()
    let field = "Bearer \(try door.token())"
    try await door.call([field])
    door.feed.state.withLock { state in
      state.ended[Self.session] = ending
      state.revision = 2
    }
    let error = await door.refusal([field])
    #expect(error?.code == .unauthenticated && error?.reason == ending.reason)
  }

  @Test("When another session ends, this one is looked up once and admitted at once again")
  func otherEnded() async throws {
    let door = try Door()
    let field = "Bearer \(try door.token())"
    try await door.call([field])
    door.feed.state.withLock { state in
      state.ended[UUID(high: 9, low: 9)] = .revoked
      state.revision = 2
    }
    for _ in 0..<10 { #expect(try await door.call([field]).atOnce) }
    #expect(door.feed.state.withLock { $0.looked } == 2)
  }

  @Test("While nothing is heard every call asks; an ended session is refused, and without an answer nobody is let in")
  func stale() async throws {
    let door = try Door()
    let field = "Bearer \(try door.token())"
    try await door.call([field])
    door.feed.state.withLock { $0.revision = nil }
    #expect(try await !door.call([field]).atOnce)
    #expect(door.feed.state.withLock { $0.asked } == 1)
    door.feed.state.withLock { $0.answer = .success(.revoked) }
    #expect(await door.refusal([field])?.reason == "SESSION_REVOKED")
    door.feed.state.withLock { $0.answer = .failure(RevocationsUnavailable("away")) }
    let error = await door.refusal([field])
    #expect(error?.code == .unavailable && error?.reason == "REVOCATIONS_UNAVAILABLE")
    // What is known to have ended needs no answer.
    door.feed.state.withLock { $0.ended[Self.session] = .signedOut }
    #expect(await door.refusal([field])?.reason == "SESSION_SIGNED_OUT")
    door.feed.state.withLock { ($0.ended, $0.revision) = ([:], 5) }
    #expect(try await door.call([field]).caller != nil)
  }

  // MARK: Own data, subscription

  @Test("B-48: what is not the caller's own is PERMISSION_DENIED, whether it exists or not")
  func ownership() throws {
    let caller = Caller(userID: Self.user, sessionID: Self.session, app: "a", authenticatedAt: 0)
    try caller.mustOwn("")
    try caller.mustOwn(Self.user.description.uppercased())
    try caller.mustOwn(Self.user)
    for other in [Self.session.description, "ana", Self.user.description + " "] {
      let error = #expect(throws: RPCError.self) { try caller.mustOwn(other) }
      #expect(error?.code == .permissionDenied && error?.reason == "NOT_YOUR_OWN")
    }
    #expect(throws: RPCError.self) { try caller.mustOwn(Self.session) }
  }

  @Test("A method of another access has no caller")
  func noCaller() {
    let error = #expect(throws: RPCError.self) { try CallContext(FakeCall(EchoService.Methods.echo.info)).caller }
    #expect(error?.code == .unauthenticated)
  }

  private struct Payments: EntitlementChecking {
    let answer: Result<Bool, RevocationsUnavailable>
    func isEntitled(_ caller: Caller) async throws -> Bool { try answer.get() }
  }

  @Test("B-49: without a subscription the gate answers SUBSCRIPTION_REQUIRED with the way to the paywall")
  func subscription() async throws {
    let door = try Door()
    func refusal(_ payments: Payments, _ fields: [String]) async -> RPCError? {
      var metadata = Metadata()
      for field in fields { metadata.append("authorization", field) }
      let gate = SubscriptionAuthenticator(door.authenticator, payments)
      do { try await gate.authenticate(FakeCall(EchoService.Methods.guarded.info, metadata: metadata)) } catch {
        return error as? RPCError
      }
      return nil
    }
    let fields = ["Bearer \(try door.token())"]
    for _ in 0..<2 { #expect(await refusal(Payments(answer: .success(true)), fields)?.code == nil) }
    let refused = try #require(await refusal(Payments(answer: .success(false)), fields))
    #expect(refused.code == .failedPrecondition)
    #expect(
      refused.details == [
        .errorInfo(
          reason: "SUBSCRIPTION_REQUIRED", domain: "parley.billing.v1",
          metadata: ["requiresSubscription": "true", "redirectToPaywall": "true"])
      ])
    let unknown = await refusal(Payments(answer: .failure(RevocationsUnavailable("away"))), fields)
    #expect(unknown?.code == .unavailable && unknown?.reason == "ENTITLEMENT_UNAVAILABLE")
    #expect(await refusal(Payments(answer: .success(true)), [])?.reason == "MISSING_AUTHORIZATION")
  }
}

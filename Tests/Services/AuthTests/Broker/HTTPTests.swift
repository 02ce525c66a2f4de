import AuthDomain
import AuthStore
import JOSE
import JSON
import Limits
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCServer
import ServiceKit
import Synchronization
import TestSupport
import Testing
import Values

@testable import AuthAPI

/// How long a job slept, and what was left each time.
private final class SweepTimes: Sendable {
  private let times = Mutex<[(Duration, Int64)]>([])
  var all: [(Duration, Int64)] { times.withLock { $0 } }
  func add(_ duration: Duration, _ left: Int64) { times.withLock { $0.append((duration, left)) } }
}

extension BrokerTests {
  @Test("B-01, B-12, B-23: GET /token answers token, type and time left, and no cache may keep it")
  func token() async throws {
    try await Self.withBroker { broker in
      let response = try await broker.get("/token", token: broker.idToken())
      let body = try #require(try JSONParser.parse(response.body).object)
      #expect(response.status == 200)
      #expect(body.members.map(\.name) == ["access_token", "token_type", "expires_in"])
      #expect(body["access_token"]?.string == FakeGoogle.tokenPrefix + "1")
      #expect(body["token_type"]?.string == "Bearer")
      #expect((3590...3600).contains(body["expires_in"]?.int64 ?? 0))
      #expect(response.headers["content-type"] == "application/json")
      #expect(response.headers["cache-control"] == "no-store")
    }
  }

  @Test("B-02: GET /whoami answers the claims, without those that are empty")
  func whoAmI() async throws {
    try await Self.withBroker { broker in
      let token = FakeGoogle.token(changes: [("name", ""), ("picture", nil)])
      let response = try await broker.get("/whoami", token: token)
      let body = try #require(try JSONParser.parse(response.body).object)
      #expect(body.members.map(\.name) == ["sub", "email", "email_verified", "hd", "iss", "aud", "exp"])
      #expect(body["sub"]?.string == "ana" && body["email"]?.string == "ana@example.org")
      #expect(body["iss"]?.string == "https://accounts.google.com" && body["aud"]?.string == FakeGoogle.clientID)
      #expect(body["exp"]?.int64 == FakeGoogle.now + 3600)
      #expect(response.headers["cache-control"] == "no-store")
      #expect(broker.google.mints == 0)
    }
  }

  @Test("B-02: whoami answers name and picture where the token has them, over HTTP and gRPC alike")
  func nameAndPicture() async throws {
    try await Self.withBroker { broker in
      let picture = "https://lh3.example/ana.png"
      let token = FakeGoogle.token(changes: [("name", "Ana María"), ("picture", .string(picture))])
      let body = try #require(try JSONParser.parse(try await broker.get("/whoami", token: token).body).object)
      #expect(body.members.map(\.name) == ["sub", "email", "email_verified", "name", "picture", "hd", "iss", "aud", "exp"])
      #expect(body["name"]?.string == "Ana María" && body["picture"]?.string == picture)
      #expect(body["email_verified"]?.bool == true && body["hd"]?.string == "example.org")
      let told = try await broker.grpc.whoAmI(options: broker.options(token))
      #expect(told.name == "Ana María" && told.picture == picture && told.hd == "example.org" && told.emailVerified == true)
      let plain = try await broker.grpc.whoAmI(
        options: broker.options(FakeGoogle.token(changes: [("name", ""), ("picture", nil)])))
      #expect(plain.name == nil && plain.picture == nil)
    }
  }

  @Test("B-18: the service forgets buckets that nobody has asked for 30 minutes, at its start and every 15 minutes")
  func limitSweep() async throws {
    let clock = VirtualClock()
    try await BrokerDatabase.with { database in
      // Not within the same minute as the limit: what is touched by the microsecond has a test of its own.
      try await database.script(
        """
        insert into auth.rate_limit (key, tokens, touched_at, asked, granted) values
          ('ip:idle', 1, to_timestamp(\(FakeGoogle.now - 1801)), 1, 1), ('ip:busy', 1, to_timestamp(\(FakeGoogle.now - 1799)), 1, 1)
        """)
      try await BrokerFixture.with(database, clock: clock) { broker in
        try await eventually {
          let keys: [String] = try await database.values("select key from auth.rate_limit where key in ('ip:idle', 'ip:busy')")
          return keys == ["ip:busy"]
        }
      }
    }
  }

  @Test("B-18: the sweep of limits waits half the time after which they are forgotten, also after one that failed")
  func limitSweepTimes() async throws {
    try await BrokerDatabase.with { database in
      try await database.script(
        """
        insert into auth.rate_limit (key, tokens, touched_at, asked, granted)
        select 'ip:' || n, 1, to_timestamp(\(FakeGoogle.now) + 60 * n), 1, 1 from generate_series(1, 45) as n
        """)
      try await withLoops(1) { group in
        let log = CapturedLog()
        var configuration = try DatabaseConfiguration(database.servingURL)
        // Its clock is not the machine's, as it is in a service whose clock is given.
        configuration.clockLead = nil
        let open = try Database(configuration, group: group, log: log.logger)
        let clock = VirtualClock()
        let times = SweepTimes()
        let job = LimitSweepJob(
          buckets: RateLimitSweep(schema: "auth", open), counts: CapabilityUseSweep(open), idle: .seconds(1800),
          now: { Instant(seconds: 0).advanced(by: clock.wall) },
          sleep: { duration in
            let left: Int64? = try? await database.value("select count(*) from auth.rate_limit")
            times.add(duration, left ?? -1)
            clock.advance(by: duration)
            switch times.all.count {
            case 2: try await database.script("alter table auth.rate_limit rename to elsewhere")
            case 3: try await database.script("alter table auth.elsewhere rename to rate_limit")
            case 6: throw CancellationError()
            default: break
            }
          }, log: log.logger)
        await #expect(throws: CancellationError.self) { try await job.run() }
        await open.shutDown()
        #expect(times.all.map(\.0) == [Duration](repeating: .seconds(900), count: 6))
        // Touched in minutes 1 to 45. In minute 30 the table is away; in minutes 45, 60 and 75 goes what is half an hour old by then.
        #expect(times.all.map(\.1) == [45, 45, -1, 31, 16, 1])
        #expect(log.containing("idle limits not removed").count == 1)
      }
    }
  }

  @Test("B-03, B-21, B-22: health, other methods and paths, and CORS on every answer")
  func plainRoutes() async throws {
    try await Self.withBroker { broker in
      for (method, path, status, text) in [
        (HTTPMethod.get, "/healthz", 200, "ok"), (.post, "/token", 405, "method not allowed"),
        (.put, "/whoami", 405, "method not allowed"),
        (.get, "/", 404, "not found"), (.get, "/Token", 404, "not found"), (.options, "/token", 204, ""),
        (.options, "/nowhere", 204, ""),
        (.get, "/token", 401, "missing or invalid Authorization header"),
      ] {
        let response = try await broker.get(path, method: method, headers: ["Origin": "https://app.example"])
        #expect(response.status == status && response.text == text, "\(method) \(path)")
        #expect(response.headers["access-control-allow-origin"] == "*", "\(method) \(path)")
        #expect(response.headers["access-control-allow-headers"] == "authorization, content-type")
        #expect(response.headers["access-control-allow-methods"] == "GET, OPTIONS")
        if status >= 400 { #expect(response.headers["content-type"]?.hasPrefix("text/plain") == true) }
      }
    }
  }

  @Test("B-22: of several origins only those listed are let in")
  func origins() async throws {
    try await Self.withBroker(["CORS_ORIGIN": "https://a.example,https://b.example"]) { broker in
      for (origin, allowed) in [("https://b.example", "https://b.example"), ("https://c.example", nil)] as [(String, String?)] {
        let response = try await broker.get("/healthz", headers: ["Origin": origin])
        #expect(response.headers["access-control-allow-origin"] == allowed)
        #expect(response.headers["vary"] == "Origin")
      }
    }
  }

  @Test("B-14: every bad token gets the one text, and the log the distinct reason")
  func uniformRefusal() async throws {
    try await Self.withBroker { broker in
      let bad: [(String, String)] = [
        (FakeGoogle.token(changes: [("aud", "stranger")]), "audience_mismatch"),
        (FakeGoogle.token(changes: [("exp", .number(JSONNumber(FakeGoogle.now - 61)))]), "expired"),
        (FakeGoogle.token(key: FakeGoogle.impostor), "signature_invalid"), ("rubbish", "part_count"),
      ]
      for (token, reason) in bad {
        let response = try await broker.get("/token", token: token)
        #expect(response.status == 401 && response.text == "invalid id token")
        #expect(response.headers["cache-control"] == "no-store")
        #expect(broker.log.all.contains { $0.contains("detail=\(reason)") && $0.contains("outcome=INVALID_ID_TOKEN") })
      }
      let noSubject = try await broker.get("/token", token: FakeGoogle.token(changes: [("sub", "")]))
      #expect(noSubject.status == 401 && noSubject.text == "no subject")
      let twice = try await broker.get("/token", token: broker.idToken(), headers: ["Authorization": "Bearer other"])
      #expect(twice.status == 401 && twice.text == "missing or invalid Authorization header")
    }
  }

  @Test("B-06, B-20: several client ids are accepted; other domains get 403, on whoami only where that is switched on")
  func domainGate() async throws {
    let settings = ["ALLOWED_HD": "Example.org", "PARLEY_AUTH_OIDC_CLIENT_IDS": "ios, \(FakeGoogle.clientID)"]
    try await Self.withBroker(settings) { broker in
      let stranger = FakeGoogle.token(changes: [("hd", "other.org")])
      #expect(try await broker.get("/token", token: FakeGoogle.token(changes: [("aud", "ios")])).status == 200)
      let refused = try await broker.get("/token", token: stranger)
      #expect(refused.status == 403 && refused.text == "forbidden: wrong domain")
      #expect(try await broker.get("/token", token: FakeGoogle.token(changes: [("hd", nil)])).status == 403)
      #expect(try await broker.get("/whoami", token: stranger).status == 200)
    }
    try await Self.withBroker(["ALLOWED_HD": "example.org", "PARLEY_AUTH_WHOAMI_DOMAIN_GATE": "true"]) { broker in
      let status = try await broker.get("/whoami", token: FakeGoogle.token(changes: [("hd", "other.org")])).status
      #expect(status == 403)
    }
  }

  @Test(
    "B-15, AUTH-M6: over HTTP the 31st request of a burst gets 429 with Retry-After and RateLimit headers, and the next second one more passes"
  )
  func userLimit() async throws {
    try await Self.withBroker { broker in
      for number in 0..<30 {
        let status = try await broker.get("/whoami", token: broker.idToken()).status
        #expect(status == 200, "\(number)")
      }
      let refused = try await broker.get("/token", token: broker.idToken())
      #expect(refused.status == 429 && refused.text == "rate limit (user)")
      #expect(refused.headers["retry-after"] == "1" && refused.headers["ratelimit-limit"] == "30")
      #expect(refused.headers["ratelimit-remaining"] == "0" && refused.headers["ratelimit-reset"] == "30")
      broker.clock.advance(by: .seconds(1))
      #expect(try await broker.get("/token", token: broker.idToken()).status == 200)
    }
  }

  @Test("B-17: the limit by address comes before any look at the token, and believes trusted proxies alone")
  func addressLimit() async throws {
    try await Self.withBroker { broker in
      for _ in 0..<60 {
        let status = try await broker.get("/token", headers: ["X-Forwarded-For": "192.0.2.9"]).status
        #expect(status == 401)
      }
      let refused = try await broker.get(
        "/token", token: broker.idToken(), headers: ["X-Forwarded-For": "203.0.113.5, 192.0.2.9"])
      #expect(refused.status == 429 && refused.text == "rate limit (ip)" && refused.headers["retry-after"] == "1")
      #expect(try await broker.get("/token", token: broker.idToken(), headers: ["X-Forwarded-For": "192.0.2.10"]).status == 200)
    }
  }

  @Test("B-27: a failed mint is 500 without detail, and the broker recovers with its provider")
  func mintFailure() async throws {
    try await Self.withBroker { broker in
      broker.google.set { $0.tokenFault = .status(403, #"{"error":"planted_detail"}"#) }
      let failed = try await broker.get("/token", token: broker.idToken())
      #expect(failed.status == 500 && failed.text == "token mint failed")
      broker.google.set { $0.tokenFault = .none }
      #expect(try await broker.get("/token", token: broker.idToken()).status == 200)
    }
  }

  @Test("An unknown capability is 400 and asks nothing of the cloud")
  func capability() async throws {
    try await Self.withBroker { broker in
      let refused = try await broker.get("/token?capability=money", token: broker.idToken())
      #expect(refused.status == 400 && refused.text == "unknown capability")
      #expect(broker.google.mints == 0)
      #expect(try await broker.get("/token?capability=", token: broker.idToken()).status == 200)
    }
  }

  @Test("B-13: the scope asked for is the configured one")
  func scope() async throws {
    try await Self.withBroker(["TOKEN_SCOPE": "https://scope.example/one https://scope.example/two"]) { broker in
      #expect(try await broker.get("/token", token: broker.idToken()).status == 200)
      let form = try #require(broker.google.sentAssertions.first)
      let payload = try #require(form.split(separator: ".").dropFirst().first)
      let claims = try JSONParser.parse(try #require(Base64URL.decode(String(payload)))).object
      #expect(claims?["scope"]?.string == "https://scope.example/one https://scope.example/two")
    }
  }

  @Test("While its keys cannot be had the broker is not ready and answers 503 keys unavailable, then recovers")
  func keysAway() async throws {
    try await BrokerDatabase.with { database in
      let google = FakeGoogle()
      google.set { $0.keySetFault = .status(404) }
      try await BrokerFixture.with(database, google: google, settings: ["PARLEY_AUTH_JWKS_COOLDOWN": "1s"], waitsForKeys: false) {
        broker in
        let refused = try await broker.get("/token", token: broker.idToken())
        #expect(refused.status == 503 && refused.text == "keys unavailable")
        #expect(broker.instance.health.reasons == ["keys"])
        google.set { $0.keySetFault = .none }
        try await eventually { broker.instance.health.isServing }
        #expect(try await broker.get("/token", token: broker.idToken()).status == 200)
      }
    }
  }
}

import EventLoop
import GoogleProvider
import JOSE
import JSON
import OpenID
import Synchronization
import TestSupport
import Testing

@Suite("Minting")
struct MintTests {
  @Test("B-11, B-13: the assertion is the account's, for the scope and endpoint, signed by its key, for an hour")
  func assertion() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      _ = try await fixture.minter().mint(scope: "a b")
      let form = try #require(fixture.google.state.withLock { $0.assertions.first })
      let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
      #expect(form.hasPrefix(prefix))
      let keys = JWKSet([FakeGoogle.account.publicKey])
      let payload = try TokenVerifier.verifySignature(
        Array(form.dropFirst(prefix.count).utf8), keys: keys, allowedAlgorithms: [.rs256])
      let claims = try #require(try JSONParser.parse(payload).object)
      #expect(claims["iss"]?.string == "broker@p.iam.gserviceaccount.com")
      #expect(claims["scope"]?.string == "a b")
      #expect(claims["aud"]?.string == "https://oauth2.example/token")
      #expect(claims["iat"]?.int64 == FakeGoogle.now)
      #expect(claims["exp"]?.int64 == FakeGoogle.now + 3600)
    }
  }

  @Test(
    "B-12: expires_in may be a number or a text, missing or past",
    arguments: [
      (3599, 3599), ("3599", 3599), (JSONNumber(3599.9).map(JSONValue.number), 3599), (-5, 0), (0, 0), (nil, nil), ("soon", nil),
      (.null, nil),
    ] as [(JSONValue?, Int?)])
  func lifetime(value: JSONValue?, seconds: Int?) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.expiresIn = value }
      let token = try await fixture.minter().mint(scope: "a")
      #expect(token.timeLeft(at: fixture.clock.monotonic) == seconds.map { .seconds($0) })
    }
  }

  @Test(
    "What may pass is tried three times, 1 s and 2 s apart; what will not, once",
    arguments: [
      (408, "{}", 3), (429, "{}", 3), (500, "{}", 3), (503, "{}", 3), (504, "{}", 3), (400, #"{"error":"internal_failure"}"#, 3),
      (400, #"{"error":"x","error_description":"temporarily_unavailable"}"#, 3), (400, #"{"error":"invalid_grant"}"#, 1),
      (401, "{}", 1),
      (502, "{}", 1), (200, "{}", 1), (200, "no json", 1),
    ])
  func retries(status: Int, body: String, attempts: Int) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.tokenFault = .status(status, body) }
      await #expect(throws: MintError.self) { try await fixture.minter().mint(scope: "a") }
      #expect(fixture.google.mints == attempts)
      #expect(fixture.clock.sleeps == (attempts == 3 ? [.seconds(1), .seconds(2)] : []))
    }
  }

  @Test("B-28: a token is shared until it has less than 600 s left")
  func minimumRemaining() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let cache = try fixture.cache()
      let first = try await cache.mint(scope: "a")
      fixture.clock.advance(by: .seconds(3000))
      #expect(try await cache.mint(scope: "a").value == first.value)
      #expect(try await cache.mint(scope: "b").value != first.value)
      fixture.clock.advance(by: .milliseconds(1))
      #expect(try await cache.mint(scope: "a").value != first.value)
      #expect(fixture.google.mints == 3)
    }
  }

  @Test("B-28: what the source gives with less than 600 s left is handed out, and not asked for by each caller (AF-12)")
  func shortRemaining() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let cache = try fixture.cache()
      fixture.google.set { $0.expiresIn = 450 }
      let first = try await cache.mint(scope: "a")
      #expect(first.timeLeft(at: fixture.clock.monotonic) == .seconds(450))
      for _ in 0..<99 {
        fixture.clock.advance(by: .milliseconds(100))
        #expect(try await cache.mint(scope: "a").value == first.value)
      }
      #expect(fixture.google.mints == 1)
      // Ten seconds after it was asked, the source is asked again, and what it gives now is shared as ever.
      fixture.google.set { $0.expiresIn = 3600 }
      fixture.clock.advance(by: .milliseconds(100))
      let next = try await cache.mint(scope: "a")
      #expect(next.value != first.value)
      fixture.clock.advance(by: .seconds(3000))
      #expect(try await cache.mint(scope: "a").value == next.value && fixture.google.mints == 2)
    }
  }

  @Test("B-28: a token that has run out is not shared, however short a while ago it came (AF-12)")
  func runOut() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let cache = try fixture.cache()
      fixture.google.set { $0.expiresIn = 5 }
      let first = try await cache.mint(scope: "a")
      fixture.clock.advance(by: .milliseconds(4999))
      #expect(try await cache.mint(scope: "a").value == first.value)
      fixture.clock.advance(by: .milliseconds(1))
      #expect(try await cache.mint(scope: "a").value != first.value)
    }
  }

  @Test("B-28: a token of unknown life is never shared")
  func unknownLife() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.expiresIn = nil }
      let cache = try fixture.cache()
      let first = try await cache.mint(scope: "a")
      #expect(try await cache.mint(scope: "a").value != first.value)
    }
  }

  @Test("One mint serves all who wait for it, and one who gives up takes nothing from the others")
  func singleFlight() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let cache = try fixture.cache()
      fixture.google.set { $0.tokenFault = .hang }
      let first = Task { try await cache.mint(scope: "a") }
      try await fixture.google.hanging.wait()
      let others = (0..<100).map { number in
        Task(executorPreference: group.loops[number % 2]) { try await cache.mint(scope: "a") }
      }
      first.cancel()
      await #expect(throws: MintError(.cancelled)) { try await first.value }
      fixture.google.release()
      for other in others { #expect(try await other.value.value.hasPrefix(FakeGoogle.tokenPrefix)) }
      #expect(fixture.google.mints == 1)
    }
  }

  @Test(
    "B-26: a key file that cannot be used is refused with the member that is wrong",
    arguments: [
      ("", "not a JSON object"), ("[]", "not a JSON object"), ("{}", "type is missing"),
      (#"{"type":"authorized_user"}"#, "not service_account"),
      (#"{"type":"service_account"}"#, "client_email is missing"),
      (#"{"type":"service_account","client_email":"a@b","private_key_id":"k","private_key":"x"}"#, "private_key cannot be used"),
    ])
  func keyFile(json: String, complaint: String) throws {
    let error = #expect(throws: ServiceAccountKeyError.self) { try ServiceAccountKey(json: json) }
    #expect(error?.description.contains(complaint) == true)
  }
}

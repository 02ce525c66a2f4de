import GoogleProvider
import JOSE
import JSON
import OpenID
import Testing

@Suite("Google ID tokens")
struct IDTokenTests {
  @Test(
    "B-04, B-05, B-07: what the claims must be",
    arguments: [
      ("aud", "ios", "accepted"), ("aud", "stranger", "audience_mismatch"), ("aud", ["stranger", "ios"], "accepted"),
      ("aud", [], "audience_empty"), ("azp", "ios", "accepted"), ("azp", "stranger", "authorized_party_mismatch"),
      ("iss", "accounts.google.com", "accepted"), ("iss", "https://accounts.google.com", "accepted"),
      ("iss", "https://accounts.google.com/", "issuer_mismatch"), ("iss", "https://evil.example", "issuer_mismatch"),
      ("exp", nil, "expiry_missing"), ("iat", nil, "issued_at_missing"), ("sub", nil, "accepted"),
      ("email_verified", false, "accepted"),
    ] as [(String, JSONValue?, String)])
  func claims(name: String, value: JSONValue?, verdict: String) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      #expect(await fixture.verdict(FakeGoogle.token(changes: [(name, value)])) == verdict)
    }
  }

  @Test(
    "B-08: exp, iat and nbf have 60 s of leeway, to the second",
    arguments: [
      ("exp", -60, "accepted"), ("exp", -61, "expired"), ("iat", 60, "accepted"), ("iat", 61, "issued_in_future"),
      ("nbf", 60, "accepted"),
      ("nbf", 61, "not_yet_valid"),
    ] as [(String, Int64, String)])
  func leeway(claim: String, offset: Int64, verdict: String) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let value = JSONValue.number(JSONNumber(FakeGoogle.now + offset))
      #expect(await fixture.verdict(FakeGoogle.token(changes: [(claim, value)])) == verdict)
    }
  }

  @Test("B-08: a remembered token dies 61 s after its exp like any other")
  func rememberedTokenExpires() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let token = FakeGoogle.token()
      #expect(await fixture.verdict(token) == "accepted")
      fixture.clock.advance(by: .seconds(3660))
      #expect(await fixture.verdict(token) == "accepted")
      fixture.clock.advance(by: .seconds(1))
      #expect(await fixture.verdict(token) == "expired")
    }
  }

  @Test(
    "B-08: a remembered token is judged anew where the clock was set back, and taken again when that is right",
    arguments: ["iat", "nbf"])
  func rememberedTokenOfTheFuture(claim: String) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let token = FakeGoogle.token(changes: [(claim, .number(JSONNumber(FakeGoogle.now)))])
      #expect(await fixture.verdict(token) == "accepted")
      fixture.clock.jump(by: .seconds(-60))
      #expect(await fixture.verdict(token) == "accepted")
      fixture.clock.jump(by: .seconds(-3_540))
      #expect(["issued_in_future", "not_yet_valid"].contains(await fixture.verdict(token)))
      fixture.clock.jump(by: .seconds(3_600))
      #expect(await fixture.verdict(token) == "accepted")
    }
  }

  @Test("B-10: none, HS256 with the public key, ES256 and unsigned tokens are refused before any key is fetched")
  func algorithms() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let payload = Base64URL.encode(JSONValue.object(FakeGoogle.claims()).encoded())
      for algorithm in ["none", "HS256", "ES256", "RS512"] {
        let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm)","kid":"google-1"}"#.utf8))
        let input = "\(header).\(payload)"
        let forged = HMACSHA256.authenticationCode(for: Array(input.utf8), key: Array(FakeGoogle.key.publicKey.thumbprint.utf8))
        #expect(await fixture.verdict("\(input).\(Base64URL.encode(forged))") == "algorithm_not_allowed")
        #expect(await fixture.verdict("\(input).") == "algorithm_not_allowed")
      }
      #expect(fixture.google.keyFetches == 0)
    }
  }

  @Test("B-04: another key's signature is refused, and so is every truncated token")
  func signatures() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      #expect(await fixture.verdict(FakeGoogle.token(key: FakeGoogle.impostor)) == "signature_invalid")
      let token = FakeGoogle.token()
      for count in stride(from: 1, to: token.utf8.count, by: 7) {
        #expect(await fixture.verdict(String(token.prefix(count))) != "accepted")
      }
      #expect(await fixture.verdict(String(repeating: "a", count: 65_537)) == "too_large")
    }
  }

  @Test("Claims are judged before any key is fetched")
  func cheapChecksFirst() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      #expect(await fixture.verdict(FakeGoogle.token(changes: [("aud", "stranger")])) == "audience_mismatch")
      #expect(await fixture.verdict("rubbish") == "part_count")
      #expect(fixture.google.keyFetches == 0)
    }
  }
}

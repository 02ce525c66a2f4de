import AppleProvider
import JOSE
import JSON
import OpenID
import Testing

@Suite("Apple identity tokens")
struct IdentityTokenTests {
  @Test("A token says what the sheet of facts says: subject, audience, address, nonce, times")
  func everything() async throws {
    try await withLoops { group in
      let token = try await AppleFixture(group).verifier.verify(
        FakeApple.token(changes: [("aud", ["other", "org.example.web"]), ("real_user_status", 2)]))
      #expect(token.subject == "000000.0123456789abcdef0123456789abcdef.0000")
      #expect(token.issuer == "https://appleid.apple.com" && token.audience == "org.example.web")
      #expect(token.email == "ana@example.org" && token.emailIsVerified == true && !token.emailIsPrivate)
      #expect(token.nonce == "n-1" && token.supportsNonce && token.realUser == .likelyReal)
      #expect(token.issuedAt == FakeGoogle.now && token.expiry == FakeGoogle.now + 86_400)
    }
  }

  @Test(
    "Truth values are read as Boolean and as text, and as nothing else",
    arguments: [
      (true, "true"), (false, "false"), ("true", "true"), ("false", "false"), (nil, "absent"), ("True", "refused"),
      ("", "refused"), ("1", "refused"), (1, "refused"), (.null, "refused"), ([], "refused"),
    ] as [(JSONValue?, String)])
  func truthValues(_ value: JSONValue?, _ meaning: String) async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let claims = ["email_verified", "is_private_email", "nonce_supported"]
      for claim in claims where meaning == "refused" {
        #expect(await fixture.verdict(FakeApple.token(changes: [(claim, value)])) == "\(claim)_malformed")
      }
      guard meaning != "refused" else { return }
      let token = try await fixture.verifier.verify(FakeApple.token(changes: claims.map { ($0, value) }))
      #expect(token.emailIsVerified == (meaning == "absent" ? nil : meaning == "true"))
      #expect(token.emailIsPrivate == (meaning == "true"))
      #expect(token.supportsNonce == (meaning != "false"))
    }
  }

  @Test("A nonce may be absent, which the caller judges by nonce_supported; it is never empty and never another type")
  func nonce() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let without = try await fixture.verifier.verify(FakeApple.token(changes: [("nonce", nil), ("nonce_supported", "false")]))
      #expect(without.nonce == nil && !without.supportsNonce)
      #expect(await fixture.verdict(FakeApple.token(changes: [("nonce", "")])) == "nonce_empty")
      #expect(await fixture.verdict(FakeApple.token(changes: [("nonce", 7)])) == "nonce_malformed")
    }
  }

  @Test(
    "B-08: exp, iat and nbf have 60 s of leeway, and a token serves 600 s after iat, to the second",
    arguments: [
      ("exp", -60, "accepted"), ("exp", -61, "expired"), ("iat", 60, "accepted"), ("iat", 61, "issued_in_future"),
      ("iat", -600, "accepted"), ("iat", -601, "too_old"), ("nbf", 60, "accepted"), ("nbf", 61, "not_yet_valid"),
    ] as [(String, Int64, String)])
  func times(claim: String, offset: Int64, verdict: String) async throws {
    try await withLoops { group in
      let value = JSONValue.number(JSONNumber(FakeGoogle.now + offset))
      #expect(await AppleFixture(group).verdict(FakeApple.token(changes: [(claim, value)])) == verdict)
    }
  }

  @Test("A remembered token grows too old like any other")
  func rememberedTokenAges() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let token = FakeApple.token()
      #expect(await fixture.verdict(token) == "accepted")
      fixture.clock.advance(by: .seconds(600))
      #expect(await fixture.verdict(token) == "accepted")
      fixture.clock.advance(by: .seconds(1))
      #expect(await fixture.verdict(token) == "too_old")
      #expect(await AppleFixture(group, maximumAge: nil).verdict(FakeApple.token(at: FakeGoogle.now - 80_000)) == "accepted")
    }
  }

  @Test("A subject of 255 bytes is one, and of 256 is none")
  func subjectLength() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let text = { (count: Int) -> JSONValue in .string(String(repeating: "s", count: count)) }
      #expect(await fixture.verdict(FakeApple.token(changes: [("sub", text(255))])) == "accepted")
      #expect(await fixture.verdict(FakeApple.token(changes: [("sub", text(256))])) == "subject_too_long")
    }
  }

  @Test("B-09: Apple's keys rotate without notice: an unknown kid causes one fetch")
  func rotation() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      #expect(await fixture.verdict(FakeApple.token()) == "accepted")
      fixture.apple.set { $0.keys = [FakeApple.nextKey.publicKey] }
      fixture.clock.advance(by: .milliseconds(1))
      #expect(await fixture.verdict(FakeApple.token(key: FakeApple.nextKey)) == "accepted")
      #expect(await fixture.verdict(FakeApple.token(changes: [("nonce", "n-2")])) == "key_unknown")
      #expect(fixture.apple.keyFetches == 2)
      #expect(Set(fixture.apple.urls) == ["https://appleid.apple.com/auth/keys"])
    }
  }
}

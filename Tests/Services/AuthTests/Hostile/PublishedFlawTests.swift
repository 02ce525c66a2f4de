import GoogleProvider
import JOSE
import JSON
import OpenID
import Testing

/// What was found in other systems, tried here. Each test bears the number under which it is known.
@Suite("Published flaws of other systems")
struct PublishedFlawTests {
  private static let providers = SignInDoor.Provider.allCases

  @Test(
    "CVE-2026-31813: an attacker's issuer with Apple-like claims lets nobody in, and its keys are never asked for",
    arguments: providers)
  func issuerOfTheToken(_ provider: SignInDoor.Provider) async throws {
    try await withLoops(1) { group in
      let door = SignInDoor(provider, group)
      let attacker = FakeApple.makeKey(.rs256, "attacker-1")
      let claims = provider.claims([
        ("iss", "https://attacker.example"), ("email", "victim@example.org"), ("email_verified", true),
      ])
      let foreign = try attacker.sign(claims: claims)
      #expect(await door.verdict(foreign) == "issuer_mismatch")
      // With the right issuer and the attacker's key, whatever the header says of where that is found.
      let header: JSONObject = [
        "jku": "https://attacker.example/keys", "x5u": "https://attacker.example/cert", "jwk": .object(attacker.publicKey.jwk),
        "iss": "https://attacker.example",
      ]
      let named = try attacker.sign(header: header, claims: provider.claims())
      #expect(await door.verdict(named) == "key_unknown")
      let disguised = try provider.impostor.sign(header: header, claims: provider.claims())
      #expect(await door.verdict(disguised) == "signature_invalid")
      #expect(door.fixture.apple.apple.urls.allSatisfy { $0 == "https://appleid.apple.com/auth/keys" })
      let other = provider == .google ? SignInDoor.Provider.apple : .google
      #expect(await door.verdict(other.token()) == "issuer_mismatch")
    }
  }

  @Test("CVE-2026-55669, B-07: a token for another client id is refused, also by the door of another app", arguments: providers)
  func audience(_ provider: SignInDoor.Provider) async throws {
    try await withLoops(1) { group in
      let door = SignInDoor(provider, group)
      for audience in ["attacker.apps.googleusercontent.com", "org.attacker.app", ""] {
        #expect(await door.verdict(provider.token([("aud", .string(audience))])) == "audience_mismatch")
      }
      #expect(await door.verdict(provider.token([("aud", nil)])) == "audience_missing")
    }
  }

  @Test("GHSA-wxg7-w2v3-w38g: a token without iss, aud, exp, iat or sub is refused", arguments: providers)
  func missingClaims(_ provider: SignInDoor.Provider) async throws {
    try await withLoops(1) { group in
      let door = SignInDoor(provider, group)
      let reasons = [
        "iss": "issuer_missing", "aud": "audience_missing", "exp": "expiry_missing", "iat": "issued_at_missing",
        "sub": "subject_missing",
      ]
      for (claim, reason) in reasons { #expect(await door.verdict(provider.token([(claim, nil)])) == reason) }
      #expect(door.fetches == 0)
    }
  }

  @Test("CVE-2026-27840: every proper prefix of a valid token is refused", arguments: providers)
  func truncated(_ provider: SignInDoor.Provider) async throws {
    try await withLoops(1) { group in
      let door = SignInDoor(provider, group)
      let token = provider.token()
      #expect(await door.verdict(token) == "accepted")
      var reasons: Set<String> = []
      for count in 0..<token.utf8.count { reasons.insert(await door.verdict(String(token.prefix(count)))) }
      #expect(reasons.isSubset(of: ["part_count", "part_empty", "base64_invalid", "signature_invalid"]), "\(reasons)")
      #expect(await door.verdict(token) == "accepted")
    }
  }

  @Test("CVE-2026-29000, B-10: HS256 keyed with the public key in any of its spellings is refused", arguments: providers)
  func algorithmConfusion(_ provider: SignInDoor.Provider) async throws {
    try await withLoops(1) { group in
      let door = SignInDoor(provider, group)
      let key = provider.key.publicKey
      let modulus = key.jwk["n"]?.string ?? ""
      let secrets: [[UInt8]] = [
        JSONValue.object(key.jwk).encoded(), JWKSet([key]).encoded(), Array(modulus.utf8), Base64URL.decode(modulus) ?? [],
        Array(key.thumbprint.utf8), Array(key.keyID.utf8), [],
      ]
      let payload = Base64URL.encode(JSONValue.object(provider.claims()).encoded())
      for algorithm in ["HS256", "hs256", "RS256"] {
        for secret in secrets {
          let input = Base64URL.encode(Array(#"{"alg":"\#(algorithm)","kid":"\#(key.keyID)"}"#.utf8)) + "." + payload
          let code = Base64URL.encode(HMACSHA256.authenticationCode(for: Array(input.utf8), key: secret))
          let reason = algorithm == "RS256" ? "signature_invalid" : "algorithm_not_allowed"
          #expect(await door.verdict("\(input).\(code)") == reason)
        }
      }
    }
  }

  @Test("CVE-2026-29000, B-10: none, a token inside a token and an encrypted token are refused", arguments: providers)
  func nested(_ provider: SignInDoor.Provider) async throws {
    try await withLoops(1) { group in
      let door = SignInDoor(provider, group)
      let (inner, kid) = (provider.token(), provider.key.keyID)
      let payload = Base64URL.encode(JSONValue.object(provider.claims()).encoded())
      for name in ["none", "None", "NONE", "nOne"] {
        let header = Base64URL.encode(Array(#"{"alg":"\#(name)","kid":"\#(kid)"}"#.utf8))
        for token in ["\(header).\(payload).", "\(header).\(payload)", "\(header).\(payload).AA"] {
          #expect(await door.verdict(token) == "algorithm_not_allowed")
        }
      }
      #expect(
        await door.verdict(provider.sign(header: #"{"alg":"RS256","kid":"\#(kid)","cty":"JWT"}"#, payload: inner))
          == "payload_invalid")
      for algorithm in ["dir", "RSA1_5", "RSA-OAEP", "A128KW"] {
        let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm)","enc":"A128GCM","cty":"JWT","kid":"\#(kid)"}"#.utf8))
        let token = "\(header).AA.AA.\(Base64URL.encode(Array(inner.utf8))).AA"
        #expect(await door.verdict(token) == "algorithm_not_allowed")
      }
    }
  }
}

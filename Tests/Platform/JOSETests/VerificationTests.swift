import JOSE
import JSON
import Testing

@Suite("Verification")
struct VerificationTests {
  let now = TestTokens.now

  func verdict(_ changes: [(String, JSONValue?)] = [], policy: VerificationPolicy = TestTokens.policy, at now: Int64) -> String {
    TestTokens.verdict(TestTokens.token(TestTokens.claims(changes)).utf8, policy: policy, now: now)
  }

  @Test("A valid token gives out what was signed", arguments: [TestTokens.rsa, TestTokens.p256])
  func validToken(_ key: SigningKey) throws {
    let claims = TestTokens.claims([("nbf", 5), ("azp", "ios-client"), ("aud", ["other", "web-client"])])
    let token = Array(TestTokens.token(claims, header: ["x": 1], key: key).utf8)
    let verified = try TokenVerifier.verify(token, keys: TestTokens.keys, policy: TestTokens.policy, now: now)
    #expect(verified.claims == claims)
    #expect(verified.issuer == TestTokens.issuer)
    #expect(verified.subject == "1234567890")
    #expect(verified.audiences == ["other", "web-client"])
    #expect(verified.authorizedParty == "ios-client")
    #expect(verified.expiry == now + 3600)
    #expect(verified.issuedAt == now)
    #expect(verified.notBefore == 5)
    #expect(verified.keyID == key.keyID)
    #expect(verified.algorithm == key.algorithm)
    #expect(verified.header == ["alg": .string(key.algorithm.rawValue), "typ": "JWT", "kid": .string(key.keyID), "x": 1])
  }

  @Test("B-04: a signature by another key of the same name is refused")
  func foreignSignature() {
    #expect(TestTokens.verdict(TestTokens.token(key: TestTokens.otherRSA).utf8) == "signature_invalid")
    #expect(TestTokens.verdict(TestTokens.token(key: TestTokens.otherP256).utf8) == "signature_invalid")
    #expect(TestTokens.verdict(TestTokens.token(key: TestTokens.rsa).utf8) == "accepted")
  }

  @Test("B-05: a token for another client is refused, and an empty list accepts nobody")
  func audience() {
    #expect(verdict([("aud", "other")], at: now) == "audience_mismatch")
    var policy = TestTokens.policy
    policy.audiences = []
    #expect(verdict(policy: policy, at: now) == "audience_mismatch")
  }

  @Test("B-06: each of several client ids is accepted, as text and in a list", arguments: ["web-client", "ios-client"])
  func severalAudiences(_ audience: String) {
    #expect(verdict([("aud", .string(audience))], at: now) == "accepted")
    #expect(verdict([("aud", ["x", .string(audience)])], at: now) == "accepted")
    #expect(verdict([("aud", "ios-client"), ("azp", .string(audience))], at: now) == "accepted")
  }

  @Test("An authorized party outside the list is let through only if the policy says so")
  func authorizedParty() {
    #expect(verdict([("azp", "other")], at: now) == "authorized_party_mismatch")
    var policy = TestTokens.policy
    policy.requiresAuthorizedPartyInAudiences = false
    #expect(verdict([("azp", "other")], policy: policy, at: now) == "accepted")
    #expect(verdict([("azp", 1)], policy: policy, at: now) == "authorized_party_malformed")
  }

  @Test("B-07: both spellings of the issuer are accepted, and no third")
  func issuer() {
    #expect(verdict([("iss", "https://accounts.google.com")], at: now) == "accepted")
    #expect(verdict([("iss", "accounts.google.com")], at: now) == "accepted")
    #expect(verdict([("iss", "http://accounts.google.com")], at: now) == "issuer_mismatch")
    var policy = TestTokens.policy
    policy.issuers = []
    #expect(verdict(policy: policy, at: now) == "issuer_mismatch")
  }

  @Test("B-08: a token that expired 60 s ago is accepted, 61 s ago refused")
  func expiry() {
    #expect(verdict(at: now + 3600 + 60) == "accepted")
    #expect(verdict(at: now + 3600 + 61) == "expired")
  }

  @Test("B-08: without leeway a token is dead at the second of its exp")
  func expiryWithoutLeeway() {
    let policy = VerificationPolicy(
      allowedAlgorithms: [.es256], issuers: [TestTokens.issuer], audiences: [TestTokens.audience], expiryLeeway: .zero,
      issuedAtLeeway: .zero, notBeforeLeeway: .zero)
    #expect(verdict(policy: policy, at: now + 3599) == "accepted")
    #expect(verdict(policy: policy, at: now + 3600) == "expired")
    #expect(verdict(policy: policy, at: now) == "accepted")
    #expect(verdict(policy: policy, at: now - 1) == "issued_in_future")
    #expect(verdict([("nbf", .number(JSONNumber(now + 1)))], policy: policy, at: now) == "not_yet_valid")
  }

  @Test("B-08: a token issued 60 s ahead is accepted, 61 s ahead refused")
  func issuedAhead() {
    #expect(verdict(at: now - 60) == "accepted")
    #expect(verdict(at: now - 61) == "issued_in_future")
  }

  @Test("B-08: nbf has its own leeway, here 300 s")
  func notBefore() {
    let notBefore: [(String, JSONValue?)] = [("nbf", .number(JSONNumber(now + 300)))]
    #expect(verdict(notBefore, at: now) == "accepted")
    #expect(verdict(notBefore, at: now - 1) == "not_yet_valid")
  }

  @Test("No leeway exceeds 300 s or falls below 0")
  func leewayBounds() {
    let policy = VerificationPolicy(
      allowedAlgorithms: [.es256], issuers: [TestTokens.issuer], audiences: [TestTokens.audience], expiryLeeway: .seconds(301),
      issuedAtLeeway: .seconds(-1), notBeforeLeeway: .milliseconds(1500))
    #expect(policy.expiryLeeway == .seconds(300))
    #expect(policy.issuedAtLeeway == .zero)
    #expect(policy.notBeforeLeeway == .seconds(1))
    #expect(verdict(policy: policy, at: now + 3900) == "accepted")
    #expect(verdict(policy: policy, at: now + 3901) == "expired")
  }

  @Test("A maximum age refuses a token by its issue time, and no lifetime is too long without one")
  func maximumAge() {
    let long: [(String, JSONValue?)] = [("exp", .number(JSONNumber(now + 1_000_000_000)))]
    #expect(verdict(long, at: now + 500_000_000) == "accepted")
    var policy = TestTokens.policy
    policy.maximumAge = .seconds(300)
    #expect(verdict(policy: policy, at: now + 300) == "accepted")
    #expect(verdict(policy: policy, at: now + 301) == "too_old")
  }

  @Test("B-10: only allowed algorithms are accepted, and an empty list accepts none")
  func algorithms() {
    let rsa = TestTokens.token(key: TestTokens.rsa)
    let p256 = TestTokens.token(key: TestTokens.p256)
    var policy = TestTokens.policy
    policy.allowedAlgorithms = [.rs256]
    #expect(TestTokens.verdict(rsa.utf8, policy: policy) == "accepted")
    #expect(TestTokens.verdict(p256.utf8, policy: policy) == "algorithm_not_allowed")
    policy.allowedAlgorithms = []
    #expect(TestTokens.verdict(rsa.utf8, policy: policy) == "algorithm_not_allowed")
  }

  @Test("A subject left to the caller may be absent or empty, and the difference shows")
  func subjectLeftToCaller() throws {
    var policy = TestTokens.policy
    policy.subjectRule = .leftToCaller
    func subject(_ value: JSONValue?) throws -> String? {
      let token = Array(TestTokens.token(TestTokens.claims([("sub", value)])).utf8)
      return try TokenVerifier.verify(token, keys: TestTokens.keys, policy: policy, now: now).subject
    }
    #expect(try subject(nil) == nil)
    #expect(try subject("") == "")
    #expect(try subject("7") == "7")
    #expect(throws: TokenError(code: .subjectMalformed)) { try subject(7) }
  }

  @Test("Claims are judged before any key is looked for, and an unknown key is its own outcome")
  func steps() throws {
    let stranger = TestTokens.makeKey(.es256, "new-key")
    #expect(throws: TokenError(code: .expired)) {
      try UnverifiedToken(
        parsing: Array(TestTokens.token(key: stranger).utf8), policy: TestTokens.policy, now: now + 10_000)
    }
    let token = try UnverifiedToken(parsing: Array(TestTokens.token(key: stranger).utf8), policy: TestTokens.policy, now: now)
    #expect(token.keyID == "new-key")
    #expect(throws: TokenError(code: .keyUnknown)) { try token.key(in: TestTokens.keys) }
    #expect(throws: TokenError(code: .keyUnknown)) { try token.verified(by: TestTokens.p256.publicKey) }
    let refetched = JWKSet([TestTokens.p256.publicKey, stranger.publicKey])
    #expect(try token.verified(by: token.key(in: refetched)).subject == "1234567890")
  }

  @Test("Signature alone: any payload is given out, and only when it was signed")
  func signatureOnly() throws {
    let payload: [UInt8] = [0, 255, 1]
    let token = Array(try TestTokens.rsa.sign(payload: payload).utf8)
    #expect(try TokenVerifier.verifySignature(token, keys: TestTokens.keys, allowedAlgorithms: [.rs256]) == payload)
    #expect(throws: TokenError(code: .algorithmNotAllowed)) {
      try TokenVerifier.verifySignature(token, keys: TestTokens.keys, allowedAlgorithms: [.es256])
    }
    #expect(throws: TokenError(code: .signatureInvalid)) {
      try TokenVerifier.verifySignature(
        token, keys: JWKSet([TestTokens.otherRSA.publicKey]), allowedAlgorithms: [.rs256])
    }
  }

  @Test("A token of exactly 64 KiB is read")
  func largestToken() throws {
    // Growing the claim by three bytes grows the token by four; the signature and the header stay as long.
    var padding = 48_700
    var token = ""
    repeat {
      padding += 1
      token = TestTokens.token(TestTokens.claims([("padding", .string(String(repeating: "x", count: padding)))]))
    } while token.utf8.count < CompactJWS.maximumByteCount - 1
    #expect(token.utf8.count <= CompactJWS.maximumByteCount)
    #expect(TestTokens.verdict(token.utf8) == "accepted")
    #expect(TestTokens.verdict(Array(token.utf8) + Array("AAA".utf8)) == "too_large")
  }

  @Test("A refusal tells its sender nothing but that")
  func oneMessage() {
    #expect(TokenError(code: .expired).message == TokenError(code: .signatureInvalid).message)
    #expect(TokenError(code: .expired).description == "expired")
  }
}

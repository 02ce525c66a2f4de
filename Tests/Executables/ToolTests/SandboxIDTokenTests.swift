import Glibc
import JOSE
import JSON
import Outbound
import Testing

@testable import parley_sandbox

@Suite("Sandbox: keys and ID tokens") struct SandboxIDTokenTests {
  private let policy = VerificationPolicy(
    allowedAlgorithms: [.rs256], issuers: ["https://accounts.google.com"], audiences: ["app"])

  private func judge(_ token: String, _ keys: JWKSet) -> String {
    do throws(TokenError) {
      return try TokenVerifier.verify(Array(token.utf8), keys: keys, policy: policy, now: Int64(time(nil))).subject ?? ""
    } catch { return "\(error)" }
  }

  @Test(
    "An ID token is what was wished for: good, or with one defect",
    arguments: [
      (["aud": "app", "sub": "ana"], "ana"),
      (["aud": ["other", "app"], "sub": "ana", "claims": ["azp": "app"]], "ana"),
      (["aud": "other", "sub": "ana"], "audience_mismatch"),
      (["aud": "app", "sub": "ana", "expiresIn": -61], "expired"),
      (["aud": "app", "sub": "ana", "issuedAgo": -120], "issued_in_future"),
      (["aud": "app", "sub": "ana", "iss": "https://evil.example"], "issuer_mismatch"),
      (["aud": "app", "sub": "ana", "alg": "none"], "algorithm_not_allowed"),
      (["aud": "app", "sub": "ana", "alg": "HS256-public-key"], "algorithm_not_allowed"),
      (["aud": "app", "sub": "ana", "kid": "nobody"], "key_unknown"),
      (["aud": "app", "sub": "ana", "claims": ["sub": .null]], "subject_missing"),
    ] as [(JSONObject, String)])
  func wished(_ wish: JSONObject, _ judgement: String) async throws {
    try await RunningSandbox.run { running in
      let token = try await running.idToken(wish)
      #expect(judge(token, try await running.keys()) == judgement)
    }
  }

  @Test("A token says the nonce and the given name that were wished for")
  func nonce() async throws {
    try await RunningSandbox.run { running in
      let token = try await running.idToken(["aud": "app", "sub": "ana", "nonce": "n-1", "givenName": "Ana"])
      let verified = try TokenVerifier.verify(
        Array(token.utf8), keys: try await running.keys(), policy: policy, now: Int64(time(nil)))
      #expect(verified.claims["nonce"] == "n-1" && verified.claims["given_name"] == "Ana")
    }
  }

  @Test("The HS256 defect is a true MAC with the published key's PEM as its secret")
  func publicKeyAsSecret() async throws {
    try await RunningSandbox.run { running in
      let token = try await running.idToken(["aud": "app", "sub": "ana", "alg": "HS256-public-key"])
      let parts = token.split(separator: ".").map(String.init)
      try #require(parts.count == 3)
      let key = try #require(try await running.keys().keys.first)
      let secret = Array(PublicKeyPEM.encode(key).utf8)
      let input = Array("\(parts[0]).\(parts[1])".utf8)
      #expect(HMACSHA256.isValid(Base64URL.decode(parts[2]) ?? [], for: input, key: secret))
    }
  }

  @Test("A rotation keeps the old key published, or takes it back", arguments: [false, true])
  func rotation(_ withdraws: Bool) async throws {
    try await RunningSandbox.run(.init(certsMaxAge: 77)) { running in
      let old = try await running.idToken(["aud": "app", "sub": "ana"])
      #expect(judge(old, try await running.keys()) == "ana")
      #expect(try await running.post("/sandbox/google/rotate-keys", ["withdraw": .bool(withdraws)]).status == 200)
      let new = try await running.idToken(["aud": "app", "sub": "bob"])
      let keys = try await running.keys()
      #expect(judge(new, keys) == "bob")
      #expect(judge(old, keys) == (withdraws ? "key_unknown" : "ana"))
      #expect(keys.keys.count == (withdraws ? 1 : 2))
      #expect(try await running.get("/oauth2/v3/certs").headers["cache-control"]?.contains("max-age=77,") == true)
    }
  }

  @Test(
    "A wish with a misspelt or mistyped field is refused by name",
    arguments: [
      (["aud": "app", "sub": "ana", "expiresin": 5], "expiresin"), (["sub": "ana"], "aud"), (["aud": "app"], "sub"),
      (["aud": "app", "sub": 7], "sub"), (["aud": "app", "sub": "ana", "alg": "HS512"], "alg"),
    ] as [(JSONObject, String)])
  func refusedWish(_ wish: JSONObject, _ field: String) async throws {
    try await RunningSandbox.run { running in
      let response = try await running.post("/sandbox/google/id-token", wish)
      #expect(response.status == 400)
      #expect(response.text?.contains("'\(field)'") == true)
    }
  }
}

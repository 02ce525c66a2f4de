import Glibc
import JOSE
import JSON
import Outbound
import Testing

@testable import parley_sandbox

@Suite("Sandbox: Google's token endpoint") struct SandboxTokenEndpointTests {
  /// What differs from a good assertion, and how the endpoint answers.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var claims: @Sendable (inout JSONObject, Int64) -> Void = { _, _ in }
    var isForged = false
    var keyID: String?
    var grantType = TokenEndpoint.grantType
    let error: String?
  }

  static let cases: [Case] = [
    Case(testDescription: "a good one", error: nil),
    Case(testDescription: "valid for exactly an hour", claims: { $0["exp"] = .number(JSONNumber($1 + 3600)) }, error: nil),
    Case(
      testDescription: "valid for an hour and a second", claims: { $0["exp"] = .number(JSONNumber($1 + 3601)) },
      error: "invalid_grant"),
    Case(
      testDescription: "expired",
      claims: { claims, now in
        claims["iat"] = .number(JSONNumber(now - 3000))
        claims["exp"] = .number(JSONNumber(now - 90))
      }, error: "invalid_grant"),
    Case(
      testDescription: "issued in the future",
      claims: { claims, now in
        claims["iat"] = .number(JSONNumber(now + 120))
        claims["exp"] = .number(JSONNumber(now + 240))
      }, error: "invalid_grant"),
    Case(testDescription: "of another account", claims: { claims, _ in claims["iss"] = "x@example.org" }, error: "invalid_grant"),
    Case(
      testDescription: "for another endpoint", claims: { claims, _ in claims["aud"] = "https://oauth2.googleapis.com/token" },
      error: "invalid_grant"),
    Case(testDescription: "without a scope", claims: { claims, _ in claims["scope"] = nil }, error: "invalid_scope"),
    Case(testDescription: "with a blank scope", claims: { claims, _ in claims["scope"] = " " }, error: "invalid_scope"),
    Case(testDescription: "signed with another key", isForged: true, error: "invalid_grant"),
    Case(testDescription: "of an unknown key id", keyID: "unknown", error: "invalid_grant"),
    Case(testDescription: "of another grant type", grantType: "password", error: "unsupported_grant_type"),
  ]

  @Test("B-11: an assertion is judged by signature, key id, issuer, audience, times and scope", arguments: cases)
  func judged(_ test: Case) async throws {
    try await RunningSandbox.run(.init(tokenLifetime: 1234)) { running in
      let account = try parsed(try await running.get("/sandbox/google/service-account").body)
      let keyID = test.keyID ?? account["private_key_id"]?.string ?? ""
      let key: SigningKey =
        test.isForged
        ? try .generate(.rs256, keyID: keyID) : try SigningKey(pem: account["private_key"]?.string ?? "", keyID: keyID)
      let now = Int64(time(nil))
      var claims: JSONObject = [
        "iss": account["client_email"] ?? .null, "aud": account["token_uri"] ?? .null,
        "scope": "https://www.googleapis.com/auth/cloud-platform", "iat": .number(JSONNumber(now)),
        "exp": .number(JSONNumber(now + 600)),
      ]
      test.claims(&claims, now)
      let response = try await running.token([("grant_type", test.grantType), ("assertion", try key.sign(claims: claims))])
      let body = try parsed(response.body)
      #expect(response.status == (test.error == nil ? 200 : 400))
      #expect(body["error"]?.string == test.error)
      if test.error == nil {
        #expect(body["access_token"]?.string?.hasPrefix("ya29.sandbox-") == true)
        #expect(body["expires_in"]?.int64 == 1234)
        #expect(body["token_type"]?.string == "Bearer")
      }
    }
  }

  @Test("A request without an assertion, or that is no form, is invalid")
  func noAssertion() async throws {
    try await RunningSandbox.run { running in
      let without = try await running.token([("grant_type", TokenEndpoint.grantType)])
      let noForm = try await running.post("/google/token", [:])
      for response in [without, noForm] {
        #expect(response.status == 400)
        #expect(try parsed(response.body)["error"]?.string == "invalid_request")
      }
    }
  }
}

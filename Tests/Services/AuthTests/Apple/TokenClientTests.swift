import AppleProvider
import JOSE
import JSON
import OpenID
import Outbound
import TestSupport
import Testing

@Suite("Apple's token endpoints")
struct TokenClientTests {
  private static let key = FakeApple.makeKey(.es256, "ABC1234567")

  private static func client(_ fixture: AppleFixture) throws -> AppleTokenClient {
    let credential = try AppleCredential(teamID: "TEAM123456", keyID: "ABC1234567", privateKey: key.privatePEM())
    return AppleTokenClient(credential, over: fixture.apple, clock: fixture.clock.google, log: fixture.log.logger)
  }

  private static func fields(_ form: String) -> [String: String] {
    Dictionary(
      form.split(separator: "&").map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return (parts[0], parts[1])
      }, uniquingKeysWith: { first, _ in first + " twice" })
  }

  @Test("The client secret is an ES256 token of the team for Apple, about the client, for five minutes")
  func clientSecret() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      _ = try await Self.client(fixture).refresh("r", clientID: "org.example.app")
      let secret = Self.fields(try #require(fixture.apple.forms.first))["client_secret"] ?? ""
      let keys = JWKSet([Self.key.publicKey])
      let payload = try TokenVerifier.verifySignature(Array(secret.utf8), keys: keys, allowedAlgorithms: [.es256])
      let now = JSONValue.number(JSONNumber(FakeGoogle.now))
      #expect(
        try JSONParser.parse(payload) == [
          "iss": "TEAM123456", "iat": now, "exp": .number(JSONNumber(FakeGoogle.now + 300)), "aud": "https://appleid.apple.com",
          "sub": "org.example.app",
        ])
    }
  }

  @Test("A code is exchanged, a refresh token looked at and a token revoked with the fields that Apple asks for")
  func forms() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let client = try Self.client(fixture)
      fixture.apple.set {
        $0.answers = [.status(200, #"{"access_token":"a","refresh_token":"r.1","id_token":"i","expires_in":3600}"#)]
      }
      let grant = try await client.exchange(code: "c/1+2=&3", clientID: "org.example.app", redirectURI: "https://x/y")
      #expect(grant.refreshToken == "r.1" && grant.identityToken == "i" && grant.accessToken == "a")
      #expect("\(grant)" == "AppleTokenGrant(hidden)")
      _ = try await client.refresh("r.1", clientID: "org.example.app")
      #expect(try await client.revoke("r.1", clientID: "org.example.app") == .revoked)
      #expect(try await client.revoke("a", kind: .accessToken, clientID: "org.example.app") == .revoked)
      let forms = fixture.apple.forms.map(Self.fields).map { $0.filter { $0.key != "client_secret" } }
      #expect(
        forms == [
          [
            "client_id": "org.example.app", "grant_type": "authorization_code", "code": "c%2F1%2B2%3D%263",
            "redirect_uri": "https%3A%2F%2Fx%2Fy",
          ],
          ["client_id": "org.example.app", "grant_type": "refresh_token", "refresh_token": "r.1"],
          ["client_id": "org.example.app", "token": "r.1", "token_type_hint": "refresh_token"],
          ["client_id": "org.example.app", "token": "a", "token_type_hint": "access_token"],
        ])
      #expect(
        fixture.apple.urls.map { $0.split(separator: "/").last ?? "" } == ["token", "token", "revoke", "revoke"])
    }
  }

  @Test(
    "AUTH-M9: a revocation is tried three times, 1 s and 2 s apart, where that may help, and once where it may not",
    arguments: [
      (.status(503), 3, "unavailable: status 503"), (.status(500), 3, "unavailable: status 500"),
      (.status(429), 3, "unavailable: status 429"), (.failure(.connectFailed), 3, "unavailable: connect_failed"),
      (.failure(.timeout), 3, "unavailable: timeout"), (.failure(.connectionLost), 3, "unavailable: connection_lost"),
      (.failure(.circuitOpen), 1, "unavailable: circuit_open"),
      (.status(400, #"{"error":"invalid_client"}"#), 1, "refused: status 400 invalid_client"),
      (.status(400, #"{"error":"eyJ.planted secret"}"#), 1, "refused: status 400"),
      (.status(404, "<html>"), 1, "refused: status 404"),
      (.failure(.cancelled), 1, "cancelled"),
    ] as [(FakeApple.Answer, Int, String)])
  func retries(answer: FakeApple.Answer, attempts: Int, description: String) async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      fixture.apple.set { $0.answers = [answer] }
      let client = try Self.client(fixture)
      let error = await #expect(throws: AppleTokenError.self) { try await client.revoke("r", clientID: "c") }
      #expect(error?.description == description)
      #expect(fixture.apple.forms.count == attempts)
      #expect(fixture.clock.sleeps == (attempts == 3 ? [.seconds(1), .seconds(2)] : []))
    }
  }

  @Test("A revocation that goes through at last is one, and a token that Apple does not know needs none")
  func outcomes() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let client = try Self.client(fixture)
      fixture.apple.set { $0.answers = [.status(503), .failure(.connectionLost), .status(200)] }
      #expect(try await client.revoke("r", clientID: "c") == .revoked)
      #expect(fixture.apple.forms.count == 3)
      fixture.apple.set { $0.answers = [.status(400, #"{"error":"invalid_grant"}"#)] }
      #expect(try await client.revoke("r", clientID: "c") == .alreadyInvalid)
    }
  }

  @Test(
    "A code is sent again only where the first attempt cannot have used it",
    arguments: [
      (.failure(.connectFailed), 3, "unavailable"), (.status(503), 3, "unavailable"), (.status(429), 3, "unavailable"),
      (.failure(.connectionLost), 1, "unavailable"), (.failure(.timeout), 1, "unavailable"), (.status(502), 1, "unavailable"),
      (.status(400, #"{"error":"invalid_grant"}"#), 1, "invalid_grant"), (.status(200, "[]"), 1, "malformed_answer"),
    ] as [(FakeApple.Answer, Int, String)])
  func codeServesOnce(answer: FakeApple.Answer, attempts: Int, code: String) async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      fixture.apple.set { $0.answers = [answer] }
      let client = try Self.client(fixture)
      let error = await #expect(throws: AppleTokenError.self) { try await client.exchange(code: "c", clientID: "a") }
      #expect(error?.code.description == code)
      #expect(fixture.apple.forms.count == attempts)
    }
  }

  @Test(
    "A credential that cannot be used is refused with what is wrong, and never shows its key",
    arguments: [
      ("team", "ABC1234567", true, "the team id is not ten"), ("TEAM123456", "abc1234567", true, "the key id is not ten"),
      ("TEAM123456", "ABC1234567", false, "not one on P-256"),
    ])
  func credential(team: String, keyID: String, isCurve: Bool, complaint: String) throws {
    let pem = try (isCurve ? Self.key : FakeApple.key).privatePEM()
    let error = #expect(throws: AppleCredential.Fault.self) {
      try AppleCredential(teamID: team, keyID: keyID, privateKey: pem)
    }
    #expect(error?.description.contains(complaint) == true)
    let good = try AppleCredential(teamID: "TEAM123456", keyID: "ABC1234567", privateKey: Self.key.privatePEM())
    #expect("\(good) \(String(reflecting: good))".contains("PRIVATE") == false)
    #expect("\(good)" == "AppleCredential(TEAM123456, ABC1234567)")
  }
}

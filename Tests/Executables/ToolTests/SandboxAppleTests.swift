import AppleProvider
import EventLoop
import Glibc
import JOSE
import JSON
import Logging
import OpenID
import Outbound
import Testing

@testable import parley_sandbox

/// The sandbox's Apple, met by what the services meet the real one with.
private struct SandboxApple {
  static let audience = "org.example.app"
  let running: RunningSandbox
  let client: AppleTokenClient

  init(_ running: RunningSandbox) async throws {
    self.running = running
    let document = try parsed(try await running.get("/sandbox/apple/credential").body)
    let credential = try AppleCredential(
      teamID: document["teamId"]?.string ?? "", keyID: document["keyId"]?.string ?? "",
      privateKey: document["privateKey"]?.string ?? "")
    client = Self.client(credential, running)
  }

  static func client(_ credential: AppleCredential, _ running: RunningSandbox) -> AppleTokenClient {
    var endpoints = AppleTokenClient.Endpoints()
    (endpoints.token, endpoints.revoke) = ("\(running.url)/auth/token", "\(running.url)/auth/revoke")
    let clock = ProviderClock(now: { .now() }, unixSeconds: { Int64(time(nil)) }, random: { 0 }, sleep: { _ in })
    return AppleTokenClient(
      credential, endpoints: endpoints, timeout: .seconds(60), over: running.http, clock: clock,
      log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// What a sign-in leaves in the app's hands.
  func signIn(_ wish: JSONObject = [:]) async throws -> (token: String, code: String) {
    var all: JSONObject = ["aud": .string(Self.audience), "sub": "000000.ana.0000"]
    for member in wish { all[member.name] = member.value }
    let answer = try parsed(try await running.post("/sandbox/apple/identity-token", all).body)
    return (answer["token"]?.string ?? "", answer["code"]?.string ?? "")
  }

  func verdict(_ token: String) async throws -> String {
    let keys = try JWKSet(parsing: try await running.get("/apple/auth/keys").body)
    let policy = VerificationPolicy(
      allowedAlgorithms: [.rs256], issuers: ["https://appleid.apple.com"], audiences: [Self.audience])
    do throws(TokenError) {
      let verified = try TokenVerifier.verify(Array(token.utf8), keys: keys, policy: policy, now: Int64(time(nil)))
      return verified.claims.map(\.name).filter { !["iss", "aud", "iat", "exp", "sub"].contains($0) }.sorted()
        .map { "\($0)=\(verified.claims[$0] ?? .null)" }.joined(separator: " ")
    } catch { return "\(error)" }
  }

  func grants() async throws -> JSONValue { try parsed(try await running.get("/sandbox/apple/grants").body) }
}

@Suite("Sandbox: Sign in with Apple") struct SandboxAppleTests {
  private static let wishes: [(JSONObject, String)] = [
    ([:], "nonce_supported=true"),
    (["nonce": "n", "realUserStatus": 2], #"nonce="n" nonce_supported=true real_user_status=2"#),
    (["nonceSupported": false, "stringBooleans": true], #"nonce_supported="false""#),
    (
      ["email": "a@privaterelay.appleid.com", "privateEmail": true, "stringBooleans": true],
      #"email="a@privaterelay.appleid.com" email_verified="true" is_private_email="true" nonce_supported="true""#
    ),
    (["email": "a@b.c"], #"email="a@b.c" email_verified=true nonce_supported=true"#),
    (["aud": "other"], "audience_mismatch"), (["iss": "https://evil.example"], "issuer_mismatch"),
    (["alg": "none"], "algorithm_not_allowed"), (["alg": "HS256-public-key"], "algorithm_not_allowed"),
    (["expiresIn": -61], "expired"), (["kid": "nobody"], "key_unknown"), (["claims": ["sub": .null]], "subject_missing"),
  ]

  @Test("An identity token is what was wished for: good, or with one defect")
  func wished() async throws {
    // One sandbox for all of them: its keys take a while to make.
    try await RunningSandbox.run { running in
      let apple = try await SandboxApple(running)
      for (wish, verdict) in Self.wishes {
        let token = try await apple.signIn(wish).token
        #expect(try await apple.verdict(token) == verdict, "\(wish)")
      }
    }
  }

  @Test("A code gets a refresh token once; the refresh token holds until it is revoked, which is counted")
  func grants() async throws {
    try await RunningSandbox.run { running in
      let apple = try await SandboxApple(running)
      let code = try await apple.signIn().code
      let grant = try await apple.client.exchange(code: code, clientID: SandboxApple.audience)
      let refreshToken = try #require(grant.refreshToken)
      #expect(try await apple.verdict(grant.identityToken ?? "") == "")
      await #expect(throws: AppleTokenError(.invalidGrant)) {
        try await apple.client.exchange(code: code, clientID: SandboxApple.audience)
      }
      for _ in 1...2 {
        let again = try await apple.client.refresh(refreshToken, clientID: SandboxApple.audience)
        #expect(again.refreshToken == nil && again.accessToken != nil)
      }
      #expect(try await apple.grants() == ["codes": 0, "refreshTokens": 1, "revocations": 0])
      #expect(try await apple.client.revoke(refreshToken, clientID: SandboxApple.audience) == .revoked)
      #expect(try await apple.grants() == ["codes": 0, "refreshTokens": 0, "revocations": 1])
      await #expect(throws: AppleTokenError(.invalidGrant)) {
        try await apple.client.refresh(refreshToken, clientID: SandboxApple.audience)
      }
      #expect(try await apple.client.revoke(refreshToken, clientID: SandboxApple.audience) == .revoked)
      #expect(try await apple.grants()["revocations"] == 1)
    }
  }

  @Test("Another client, another team's key and a foreign code get nothing")
  func strangers() async throws {
    try await RunningSandbox.run { running in
      let apple = try await SandboxApple(running)
      let code = try await apple.signIn().code
      await #expect(throws: AppleTokenError(.invalidGrant)) { try await apple.client.exchange(code: code, clientID: "other") }
      await #expect(throws: AppleTokenError(.invalidGrant)) {
        try await apple.client.exchange(code: "c.0.made-up", clientID: SandboxApple.audience)
      }
      let other = try AppleCredential(
        teamID: "PARLEYTEAM", keyID: "PARLEYKEY1", privateKey: SigningKey.generate(.es256).privatePEM())
      let stranger = SandboxApple.client(other, running)
      let error = await #expect(throws: AppleTokenError.self) {
        try await stranger.exchange(code: try await apple.signIn().code, clientID: SandboxApple.audience)
      }
      #expect(error == AppleTokenError(.refused, detail: "status 400 invalid_client"))
    }
  }

  @Test("Its routes fail on command, and a revocation is tried again")
  func faults() async throws {
    try await RunningSandbox.run { running in
      let apple = try await SandboxApple(running)
      let grant = try await apple.client.exchange(code: try await apple.signIn().code, clientID: SandboxApple.audience)
      _ = try await running.post("/sandbox/faults", ["path": "/auth/revoke", "status": 503, "count": 2])
      #expect(try await apple.client.revoke(grant.refreshToken ?? "", clientID: SandboxApple.audience) == .revoked)
      #expect(running.sandbox.counters["/apple/auth/revoke"] == .init(requests: 3, dropped: 0, statuses: [503: 2, 200: 1]))
    }
  }

  @Test("A notification is the body that Apple posts, signed by the keys of the hour")
  func notification() async throws {
    try await RunningSandbox.run { running in
      #expect(try await running.post("/sandbox/apple/rotate-keys", [:]).status == 200)
      #expect(try JWKSet(parsing: try await running.get("/auth/keys").body).keys.count == 2)
      #expect(try await running.post("/sandbox/apple/rotate-keys", ["withdraw": true]).status == 200)
      let keys = try JWKSet(parsing: try await running.get("/auth/keys").body)
      #expect(keys.keys.count == 1)
      let wish: JSONObject = ["type": "account-delete", "aud": "org.example.app", "sub": "ana", "jti": "n-1", "eventTime": 5_000]
      let body = try parsed(try await running.post("/sandbox/apple/notification", wish).body)
      let payload = try TokenVerifier.verifySignature(
        Array(body["payload"]?.string?.utf8 ?? "".utf8), keys: keys, allowedAlgorithms: [.rs256])
      let claims = try JSONParser.parse(payload)
      #expect(claims["jti"] == "n-1" && claims["sub"] == nil)
      #expect(claims["events"]?.string == #"{"type":"account-delete","sub":"ana","event_time":5000}"#)
      let refused = try await running.post("/sandbox/apple/notification", ["aud": "a", "sub": "b"])
      #expect(refused.status == 400 && refused.text?.contains("'type'") == true)
    }
  }
}

import Glibc
import JOSE
import JSON
import Outbound
import Testing

@testable import parley_sandbox

@Suite("Sandbox: Google's cloud") struct SandboxCloudTests {
  private static let scope = MintedTokens.cloudPlatform
  private static let audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q"
  private static let audio: JSONObject = ["config": ["languageCode": "en-US"], "audio": ["content": "AAAA"]]
  private static let prompt: JSONObject = ["contents": [["role": "user", "parts": [["text": "water the plants"]]]]]

  // MARK: Getting tokens

  /// The token of the machine's account.
  private static func machine(_ running: RunningSandbox, scope: String = scope) async throws -> String {
    let path = "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + scope
    let response = try await running.get(path, headers: ["Metadata-Flavor": "Google"])
    return try JSONParser.parse(response.body)["access_token"]?.string ?? ""
  }

  private static func impersonate(
    _ running: RunningSandbox, _ account: CloudAccount, bearer: String, _ changes: JSONObject = [:]
  ) async throws -> HTTPResponse {
    var body: JSONObject = ["scope": [.string(scope)], "lifetime": "900s"]
    for change in changes { body[change.name] = change.value.isNull ? nil : change.value }
    return try await running.post(
      "/v1/projects/-/serviceAccounts/\(account.email):generateAccessToken", body, bearer: bearer)
  }

  private static func token(_ running: RunningSandbox, of account: CloudAccount) async throws -> String {
    let own = try await machine(running)
    guard account != .broker else { return own }
    return try JSONParser.parse(try await impersonate(running, account, bearer: own).body)["accessToken"]?.string ?? ""
  }

  private static func status(_ response: HTTPResponse) throws -> String {
    "\(response.status) \(try JSONParser.parse(response.body)["error"]?["status"]?.string ?? "OK")"
  }

  // MARK: Tokens

  @Test("AUTH-M10: the metadata server answers only to its mark, with its mark")
  func metadata() async throws {
    try await RunningSandbox.run(.init(tokenLifetime: 1234)) { running in
      let path = "/computeMetadata/v1/instance/service-accounts/default"
      let marked = try await running.get(path + "/token", headers: ["Metadata-Flavor": "Google"])
      #expect(marked.status == 200 && marked.headers["metadata-flavor"] == "Google")
      #expect(try parsed(marked.body)["expires_in"]?.int64 == 1234)
      let email = try await running.get(path + "/email", headers: ["Metadata-Flavor": "Google"])
      #expect(email.text == CloudAccount.broker.email)
      #expect(try await running.get(path + "/token").status == 403)
      #expect(running.sandbox.counters["/google/metadata/token"].statuses == [200: 1, 403: 1])
    }
  }

  @Test(
    "AUTH-M10: the token service takes the sandbox's own ID tokens for the pool, and nothing else",
    arguments: [
      (["aud": .string(audience), "sub": "ci"], [:], nil), (["aud": .string("https:" + audience), "sub": "ci"], [:], nil),
      (["aud": "other", "sub": "ci"], [:], "invalid_grant"),
      (["aud": .string(audience), "sub": "ci", "expiresIn": -90], [:], "invalid_grant"),
      (["aud": .string(audience), "sub": "ci", "alg": "none"], [:], "invalid_grant"),
      (["aud": .string(audience), "sub": "ci"], ["grant_type": "password"], "unsupported_grant_type"),
      (["aud": .string(audience), "sub": "ci"], ["scope": ""], "invalid_scope"),
      (["aud": .string(audience), "sub": "ci"], ["audience": "pool"], "invalid_request"),
      (["aud": .string(audience), "sub": "ci"], ["subject_token_type": "saml"], "invalid_request"),
    ] as [(JSONObject, [String: String], String?)])
  func exchange(wish: JSONObject, changes: [String: String], error: String?) async throws {
    try await RunningSandbox.run { running in
      var form = [
        "grant_type": ExchangeEndpoint.grantType, "audience": Self.audience, "scope": Self.scope,
        "requested_token_type": ExchangeEndpoint.accessToken, "subject_token_type": ExchangeEndpoint.subjectTypes[0],
        "subject_token": try await running.idToken(wish),
      ]
      form.merge(changes) { $1 }
      let response = try await running.form("/v1/token", form.map { ($0.key, $0.value) })
      let body = try parsed(response.body)
      #expect(response.status == (error == nil ? 200 : 400))
      #expect(body["error"]?.string == error)
      guard error == nil else { return }
      // A federated identity may become an account, and nothing else.
      let token = body["access_token"]?.string ?? ""
      #expect(try await Self.impersonate(running, .broker, bearer: token).status == 200)
      #expect(try await running.post("/v1/speech:recognize", Self.audio, bearer: token).status == 403)
    }
  }

  @Test(
    "AUTH-M5: an account is impersonated as asked, or not at all",
    arguments: [
      ([:], "200 OK"), (["lifetime": "3600s"], "200 OK"), (["lifetime": .null], "200 OK"),
      (["lifetime": "3601s"], "400 INVALID_ARGUMENT"), (["lifetime": "0s"], "400 INVALID_ARGUMENT"),
      (["lifetime": "900"], "400 INVALID_ARGUMENT"), (["scope": .null], "400 INVALID_ARGUMENT"),
      (["scope": "a b"], "400 INVALID_ARGUMENT"), (["scope": [1]], "400 INVALID_ARGUMENT"),
    ] as [(JSONObject, String)])
  func impersonation(changes: JSONObject, outcome: String) async throws {
    try await RunningSandbox.run { running in
      let own = try await Self.machine(running)
      let response = try await Self.impersonate(running, .speech, bearer: own, changes)
      #expect(try Self.status(response) == outcome)
      if response.status == 200 {
        let end = try parsed(response.body)["expireTime"]?.string ?? ""
        #expect(end.count == 20 && end.hasSuffix("Z") && end.dropFirst(10).hasPrefix("T"))
      }
    }
  }

  @Test("AUTH-M5: an account without the role, an account that is not there, and a stranger's token impersonate nobody")
  func impersonationRefused() async throws {
    try await RunningSandbox.run { running in
      let speech = try await Self.token(running, of: .speech)
      #expect(try Self.status(try await Self.impersonate(running, .gemini, bearer: speech)) == "403 PERMISSION_DENIED")
      let own = try await Self.machine(running)
      let nobody = CloudAccount(email: "nobody@parley-sandbox.iam.gserviceaccount.com", roles: [])
      #expect(try Self.status(try await Self.impersonate(running, nobody, bearer: own)) == "403 PERMISSION_DENIED")
      #expect(try Self.status(try await Self.impersonate(running, .speech, bearer: "ya29.forged")) == "401 UNAUTHENTICATED")
      #expect(running.sandbox.counters["/google/impersonation"].statuses == [200: 1, 403: 2, 401: 1])
    }
  }

  // MARK: APIs

  @Test(
    "AUTH-M5: speech and Gemini take the tokens of accounts with their role alone",
    arguments: [(CloudAccount.broker, 200, 200), (.speech, 200, 403), (.gemini, 403, 200)])
  func roles(account: CloudAccount, speech: Int, gemini: Int) async throws {
    try await RunningSandbox.run { running in
      let token = try await Self.token(running, of: account)
      let heard = try await running.post("/v1/speech:recognize", Self.audio, bearer: token)
      let written = try await running.post("/v1beta/models/gemini-2.0-flash:generateContent", Self.prompt, bearer: token)
      #expect(heard.status == speech && written.status == gemini)
      if speech == 200 {
        let transcript = try parsed(heard.body)["results"]?.array?.first?["alternatives"]?.array?.first?["transcript"]
        #expect(transcript?.string == SpeechEndpoint.transcript)
      }
      if gemini == 200 {
        let content = try parsed(written.body)["candidates"]?.array?.first?["content"]
        #expect(content?["parts"]?.array?.first?["text"]?.string == "Water the plants.")
      }
    }
  }

  @Test(
    "AUTH-M5: without a token, with a forged one, one that has run out or one of another scope the APIs refuse as Google does")
  func badTokens() async throws {
    try await RunningSandbox.run { running in
      let narrow = try await Self.machine(running, scope: "https://www.googleapis.com/auth/devstorage.read_only")
      let old = running.sandbox.google.tokens.mint(.broker, scopes: [Self.scope], end: Int64(time(nil)))
      for (token, outcome) in [
        (nil, "401 UNAUTHENTICATED"), ("ya29.forged", "401 UNAUTHENTICATED"), (old, "401 UNAUTHENTICATED"),
        (narrow, "403 PERMISSION_DENIED"),
      ] as [(String?, String)] {
        for (path, body) in [
          ("/v1/speech:recognize", Self.audio), ("/v1beta/models/gemini-2.0-flash:generateContent", Self.prompt),
        ] {
          let response = try await running.post(path, body, bearer: token)
          #expect(try Self.status(response) == outcome, "\(path)")
          #expect((response.headers["www-authenticate"] != nil) == (response.status == 401))
        }
      }
    }
  }

  @Test(
    "What is no request is 400, an unknown model 404",
    arguments: [
      ("/v1/speech:recognize", [:], 400), ("/v1/speech:recognize", ["config": ["languageCode": "en-US"]], 400),
      ("/v1/speech:recognize", ["config": ["languageCode": "en-US"], "audio": ["content": "!"]], 400),
      ("/v1beta/models/gemini-2.0-flash:generateContent", [:], 400), ("/v1beta/models/gpt:generateContent", prompt, 404),
      ("/v1beta/models/a/b:generateContent", prompt, 404), ("/v1beta/models/:generateContent", prompt, 404),
    ] as [(String, JSONObject, Int)])
  func badRequests(path: String, body: JSONObject, status: Int) async throws {
    try await RunningSandbox.run { running in
      let token = try await Self.machine(running)
      #expect(try await running.post(path, body, bearer: token).status == status)
    }
  }

  @Test("The cloud's endpoints can be told to fail, and count, by the names of their routes")
  func faults() async throws {
    try await RunningSandbox.run { running in
      let token = try await Self.machine(running)
      for path in ["/google/speech", "/google/gemini", "/google/impersonation"] {
        #expect(try await running.post("/sandbox/faults", ["path": .string(path), "status": 503, "count": 1]).status == 200)
      }
      let gemini = "/v1beta/models/gemini-2.5-flash:generateContent"
      #expect(try await running.post("/v1/speech:recognize", Self.audio, bearer: token).status == 503)
      #expect(try await running.post(gemini, Self.prompt, bearer: token).status == 503)
      #expect(try await Self.impersonate(running, .speech, bearer: token).status == 503)
      #expect(try await running.post(gemini, Self.prompt, bearer: token).status == 200)
      #expect(running.sandbox.counters["/google/gemini"].statuses == [503: 1, 200: 1])
      #expect(try await running.get(gemini).status == 405)
    }
  }
}

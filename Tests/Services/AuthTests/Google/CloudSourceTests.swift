import EventLoop
import GoogleProvider
import JSON
import OpenID
import Outbound
import PostgreSQL
import RPC
import Synchronization
import TestSupport
import Testing

@Suite("Where cloud tokens come from")
struct CloudSourceTests {
  private static let scope = Impersonation.callerScope

  private static func impersonation(_ fixture: GoogleFixture, _ account: String = "speech@p.iam") throws -> Impersonation {
    Impersonation(
      of: try #require(ServiceAccountName(account)), base: "https://iam.example", as: try fixture.minter(), over: fixture.google,
      clock: fixture.clock.google, log: fixture.log.logger)
  }

  // MARK: Impersonation

  @Test("AUTH-M5: an account is impersonated with the broker's own token, for 900 s, the scope as an array")
  func impersonated() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let token = try await Self.impersonation(fixture).mint(scope: "a b")
      #expect(token.value == FakeGoogle.impersonatedPrefix + "speech@p.iam-1")
      #expect(token.timeLeft(at: fixture.clock.monotonic) == .seconds(900))
      let asked = try #require(fixture.google.impersonations.first)
      #expect(asked.bearer == "Bearer \(FakeGoogle.tokenPrefix)1")
      #expect(asked.body == ["scope": ["a", "b"], "lifetime": "900s"])
      let url = fixture.google.state.withLock { $0.requests.last?.path }
      #expect(url == "https://iam.example/v1/projects/-/serviceAccounts/speech@p.iam:generateAccessToken")
    }
  }

  @Test("B-28, AUTH-M5: an impersonated token is shared until it has less than 600 s left")
  func sharedImpersonation() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { [clock = fixture.clock] in $0.wall = { clock.wall.components.seconds } }
      let cache = MintCache(
        try Self.impersonation(fixture), minimumRemaining: .seconds(600), on: fixture.loop, clock: fixture.clock.google)
      let first = try await cache.mint(scope: "a")
      fixture.clock.advance(by: .seconds(300))
      #expect(try await cache.mint(scope: "a").value == first.value)
      fixture.clock.advance(by: .milliseconds(1))
      #expect(try await cache.mint(scope: "a").value != first.value)
      #expect(fixture.google.impersonations.count == 2)
    }
  }

  @Test(
    "B-12, AUTH-M5: what is left follows from expireTime, never more than was asked for",
    arguments: [
      ("2027-01-15T08:10:00Z", 600), ("2027-01-15T08:10:00.999999999Z", 600), ("2027-01-15T09:10:00.5+01:00", 600),
      ("2027-01-15T07:40:00-00:30", 600), ("2027-01-15T09:00:00Z", 900), ("2027-01-15T07:59:59Z", 0),
      ("2028-02-29T00:00:00Z", 900), ("2027-01-15 08:10:00Z", nil), ("2027-01-15T08:10:00", nil), ("2027-13-15T08:10:00Z", nil),
      ("2027-01-15T24:10:00Z", nil), ("2027-01-15T08:10:00.Z", nil), ("2027-01-15T08:10:00+0100", nil), ("", nil), (600, nil),
      ("2027-01-15t08:10:00Z", nil), ("2027-02-29T08:10:00Z", nil), (nil, nil),
    ] as [(JSONValue?, Int?)])
  func expireTime(value: JSONValue?, seconds: Int?) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.impersonationChanges = [("expireTime", value)] }
      let impersonation = try Self.impersonation(fixture)
      if let seconds {
        let token = try await impersonation.mint(scope: "a")
        #expect(token.timeLeft(at: fixture.clock.monotonic) == .seconds(seconds))
      } else {
        let error = await #expect(throws: MintError.self) { try await impersonation.mint(scope: "a") }
        #expect(error?.code == .malformed)
      }
    }
  }

  @Test(
    "B-27, AUTH-M5: a refusal to impersonate is final, a failure is tried three times; neither shows more than a word",
    arguments: [
      (403, #"{"error":{"code":403,"message":"planted","status":"PERMISSION_DENIED"}}"#, 1, "status 403 PERMISSION_DENIED"),
      (404, #"{"error":{"code":404,"message":"planted","status":"not a word, planted"}}"#, 1, "status 404"),
      (502, "planted", 3, "status 502"), (503, "{}", 3, "status 503"), (429, "{}", 3, "status 429"),
    ])
  func refused(status: Int, body: String, attempts: Int, detail: String) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.impersonationFault = .status(status, body) }
      let error = await #expect(throws: MintError.self) { try await Self.impersonation(fixture).mint(scope: "a") }
      #expect(error == MintError(.refused, detail: detail))
      let asked = fixture.google.state.withLock { $0.requests.filter { $0.path.hasSuffix(":generateAccessToken") }.count }
      #expect(asked == attempts)
    }
  }

  @Test("AUTH-M5: a broker whose own token cannot be had asks for nothing else")
  func noOwnToken() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.tokenFault = .status(400, #"{"error":"invalid_grant"}"#) }
      let error = await #expect(throws: MintError.self) { try await Self.impersonation(fixture).mint(scope: "a") }
      #expect(error == MintError(.refused, detail: "status 400 invalid_grant"))
      #expect(fixture.google.impersonations.isEmpty)
    }
  }

  @Test(
    "A service account's name fits into a URL as it is",
    arguments: [
      ("a@p.iam.gserviceaccount.com", true), ("123-compute@developer.gserviceaccount.com", true), ("a", false), ("@p", false),
      ("a@", false), ("a@b@c", false), ("a/b@p", false), ("a@p:x", false), ("a%2f@p", false), ("a b@p", false), ("ä@p", false),
      (String(repeating: "a", count: 255) + "@p", false),
    ])
  func accountName(text: String, isName: Bool) { #expect((ServiceAccountName(text) != nil) == isName) }

  // MARK: The metadata server

  private static func metadata(_ fixture: GoogleFixture) -> MetadataServer {
    MetadataServer(over: fixture.google, clock: fixture.clock.google, log: fixture.log.logger)
  }

  @Test("AUTH-M10: the metadata server is asked with its mark, on its own link, and tells token and account")
  func metadataServer() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let token = try await Self.metadata(fixture).mint(scope: "https://a.example/x b")
      #expect(token.value == FakeGoogle.tokenPrefix + "1")
      #expect(token.timeLeft(at: fixture.clock.monotonic) == .seconds(3600))
      #expect(try await Self.metadata(fixture).accountName().text == FakeGoogle.ownAccount)
      let requests = fixture.google.state.withLock { $0.requests }
      let base = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default"
      #expect(requests.map(\.path) == ["\(base)/token?scopes=https%3A%2F%2Fa.example%2Fx,b", "\(base)/email"])
      #expect(requests.allSatisfy { $0.headers["metadata-flavor"] == "Google" && $0.isLinkLocal })
    }
  }

  @Test("AUTH-M10: an answer without the mark is not the metadata server's", arguments: [nil, "Amazon"] as [String?])
  func impostor(flavor: String?) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.metadataFlavor = flavor }
      let error = await #expect(throws: MintError.self) { try await Self.metadata(fixture).mint(scope: "a") }
      #expect(error == MintError(.malformed, detail: "it is no metadata server"))
      await #expect(throws: MintError.self) { try await Self.metadata(fixture).accountName() }
    }
  }

  @Test(
    "AUTH-M10: only a metadata server's names and link-local addresses are ones",
    arguments: [
      ("metadata.google.internal", true), ("169.254.169.254", true), ("169.254.169.254:80", true), ("127.0.0.1:1", true),
      ("localhost:9", true), ("metadata", true), ("metadata.google.internal.evil.example", false), ("10.0.0.1", false),
      ("169.254.169.254@evil.example", false), ("169.254.169.254/x", false), ("169.254.1", false), ("", false),
      ("169.254.169.254:port", false), ("127.0.0.1.evil.example", false),
    ])
  func metadataHost(host: String, isOne: Bool) { #expect(MetadataServer.isHost(host) == isOne) }

  // MARK: Federation

  private static func document(_ changes: [(String, JSONValue?)] = []) -> String {
    var members: JSONObject = [
      "type": "external_account",
      "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
      "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.example/v1/token",
      "credential_source": ["file": "/run/subject"],
    ]
    for (name, value) in changes { members[name] = value }
    return JSONValue.object(members).description
  }

  private static func federated(
    _ fixture: GoogleFixture, _ changes: [(String, JSONValue?)], file: String = "planted.subject\n"
  ) throws -> FederatedIdentity {
    FederatedIdentity(
      try CredentialConfiguration(json: document(changes)), over: fixture.google, on: fixture.loop, clock: fixture.clock.google,
      log: fixture.log.logger
    ) { path in
      guard path == "/run/subject" else { throw MintError(.unreachable) }
      return Array(file.utf8)
    }
  }

  @Test("AUTH-M10: another provider's token is exchanged as RFC 8693 says, and read anew each time")
  func exchange() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let identity = try Self.federated(fixture, [])
      #expect(try await identity.mint(scope: "a b").value == FakeGoogle.tokenPrefix + "1")
      let asked = try #require(fixture.google.state.withLock { $0.requests.first })
      #expect(asked.path == "https://sts.example/v1/token")
      let fields = asked.body.split(separator: "&").map(String.init)
      #expect(
        fields == [
          "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange",
          "audience=%2F%2Fiam.googleapis.com%2Fprojects%2F1%2Flocations%2Fglobal%2FworkloadIdentityPools%2Fp%2Fproviders%2Fq",
          "scope=a%20b", "requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token",
          "subject_token=planted.subject", "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt",
        ])
    }
  }

  @Test(
    "AUTH-M10: the token may be a member of a document, in a file or at an address",
    arguments: [
      (["file": "/run/subject", "format": ["type": "json", "subject_token_field_name": "token"]], false),
      (["url": "https://idp.example/subject", "format": ["type": "json", "subject_token_field_name": "token"]], false),
      (
        [
          "url": "http://169.254.169.254/subject", "headers": ["Metadata": "True"],
          "format": ["type": "json", "subject_token_field_name": "token"],
        ], true
      ),
    ] as [(JSONValue, Bool)])
  func documents(source: JSONValue, isLinkLocal: Bool) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let identity = try Self.federated(fixture, [("credential_source", source)], file: #"{"token":"planted.subject.token"}"#)
      _ = try await identity.mint(scope: "a")
      let requests = fixture.google.state.withLock { $0.requests }
      #expect(requests.last?.body.contains("subject_token=planted.subject.token&") == true)
      if source["url"] != nil {
        #expect(requests[0].isLinkLocal == isLinkLocal)
        #expect(requests[0].headers["metadata"] == (isLinkLocal ? "True" : nil))
      }
    }
  }

  @Test("AUTH-M10: where the configuration names an account, the exchanged token is turned into its")
  func federatedAccount() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let url = "https://iam.example/v1/projects/-/serviceAccounts/own@p.iam:generateAccessToken"
      let identity = try Self.federated(
        fixture,
        [
          ("service_account_impersonation_url", .string(url)),
          ("service_account_impersonation", ["token_lifetime_seconds": 1800]),
        ])
      let token = try await identity.mint(scope: "a")
      #expect(token.value == FakeGoogle.impersonatedPrefix + "own@p.iam-1")
      #expect(token.timeLeft(at: fixture.clock.monotonic) == .seconds(1800))
      #expect(fixture.google.impersonations.first?.bearer == "Bearer \(FakeGoogle.tokenPrefix)1")
    }
  }

  @Test(
    "AUTH-M10: a subject token that cannot be had is named as such, and never shown",
    arguments: [
      (["file": "/run/absent"], "", "unreachable: subject_token_file"),
      (["file": "/run/subject"], " \n", "malformed_answer: no subject_token"),
      (
        ["file": "/run/subject", "format": ["type": "json", "subject_token_field_name": "other"]], #"{"token":"planted"}"#,
        "malformed_answer: no subject_token"
      ),
    ] as [(JSONValue, String, String)])
  func noSubject(source: JSONValue, file: String, text: String) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let identity = try Self.federated(fixture, [("credential_source", source)], file: file)
      let error = await #expect(throws: MintError.self) { try await identity.mint(scope: "a") }
      #expect(error?.description == text)
      #expect(fixture.google.mints == 0)
    }
  }

  @Test(
    "B-26, AUTH-M10: a credential configuration that cannot be used is refused with the member that is wrong",
    arguments: [
      ([("type", "service_account")], "not external_account"), ([("audience", nil)], "audience is missing"),
      ([("subject_token_type", 1)], "subject_token_type is not a text"),
      ([("token_url", "http://sts.example/v1/token")], "token_url is not an https"),
      ([("token_url", "http://127.0.0.1@evil.example/")], "token_url is not an https"),
      ([("token_url", "http://127.0.0.1.evil.example/")], "token_url is not an https"),
      ([("credential_source", nil)], "credential_source is missing"), ([("credential_source", [:])], "neither file nor url"),
      ([("credential_source", ["file": "/x", "url": "https://x.example"])], "or both"),
      ([("credential_source", ["environment_id": "aws1", "url": "https://x"])], "environment_id is not supported"),
      ([("credential_source", ["executable": ["command": "/bin/true"]])], "executable is not supported"),
      ([("credential_source", ["url": "http://idp.example/x"])], "url is not an https"),
      ([("credential_source", ["file": "/x", "format": ["type": "xml"]])], "neither text nor json"),
      ([("credential_source", ["file": "/x", "format": ["type": "json"]])], "subject_token_field_name is missing"),
      ([("service_account_impersonation_url", "https://iam.example/x")], "does not end in"),
      (
        [
          ("service_account_impersonation_url", "https://iam.example/v1/projects/-/serviceAccounts/a@p.iam:generateAccessToken"),
          ("service_account_impersonation", ["token_lifetime_seconds": 599]),
        ], "600 to 43200"
      ),
    ] as [([(String, JSONValue?)], String)])
  func configuration(changes: [(String, JSONValue?)], complaint: String) throws {
    let error = #expect(throws: CredentialConfigurationError.self) {
      try CredentialConfiguration(json: Self.document(changes))
    }
    #expect(error?.description.contains(complaint) == true, "\(error?.description ?? "accepted")")
  }
}

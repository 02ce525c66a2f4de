import AuthAPI
import AuthStore
import EventLoop
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import ServiceKit
import TestSupport
import Testing
import Values

extension BrokerTests {
  static let capabilities = [
    "PARLEY_AUTH_CAPABILITIES": "speech=speech@p.iam.gserviceaccount.com,gemini=gemini@p.iam.gserviceaccount.com",
    "PARLEY_AUTH_CLOUD_IMPERSONATION_URL": "{google}",
  ]

  @Test("AUTH-M5: a capability's token is that of its own account, for 900 s; without a capability it is the broker's own")
  func capabilities() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: Self.capabilities) { broker in
        let speech = try await broker.exchange(broker.idToken(), capability: "speech")
        #expect(speech.accessToken == FakeGoogle.impersonatedPrefix + "speech@p.iam.gserviceaccount.com-1")
        #expect((600...900).contains(speech.expiresIn))
        let over = try await broker.get("/token?capability=gemini", token: broker.idToken())
        let body = try JSONParser.parse(over.body)
        #expect(body["access_token"]?.string == FakeGoogle.impersonatedPrefix + "gemini@p.iam.gserviceaccount.com-2")
        #expect((600...900).contains(body["expires_in"]?.int64 ?? 0))
        let own = try await broker.exchange(broker.idToken())
        #expect(own.accessToken.hasPrefix(FakeGoogle.tokenPrefix) && own.expiresIn > 3000)
        let asked = try #require(broker.google.impersonations.first)
        #expect(asked.body["lifetime"]?.string == "900s")
        #expect(asked.body["scope"]?.array?.map(\.string) == ["https://www.googleapis.com/auth/cloud-platform"])
        #expect(asked.bearer.hasPrefix("Bearer " + FakeGoogle.tokenPrefix))
        let unknown = await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken(), capability: "money") }
        #expect(unknown?.reason == "UNKNOWN_CAPABILITY")
      }
      let lines: [String] = try await database.values(
        "select concat_ws('|', capability, account, outcome, expires_at - issued_at <= interval '900 s') from auth.token_issuance order by capability desc"
      )
      #expect(
        lines == [
          "speech|speech@p.iam.gserviceaccount.com|issued|t", "gemini|gemini@p.iam.gserviceaccount.com|issued|t",
          "default||issued|f", "||denied",
        ])
    }
  }

  @Test("B-28, AUTH-M5: callers share a capability's token; one with less than 600 s left is not among them")
  func sharedCapability() async throws {
    try await Self.withBroker(Self.capabilities) { broker in
      let first = try await broker.exchange(broker.idToken(), capability: "speech")
      #expect(try await broker.exchange(broker.idToken("bo"), capability: "speech").accessToken == first.accessToken)
      #expect(broker.google.impersonations.count == 1)
      // One that comes with 599 s is handed out, and shared with nobody.
      broker.google.set { state in
        let wall = state.wall
        state.impersonationChanges = [("expireTime", .string(Instant(seconds: wall() + 599).description))]
      }
      let short = try await broker.exchange(broker.idToken(), capability: "gemini")
      #expect(short.expiresIn < 600)
      #expect(try await broker.exchange(broker.idToken(), capability: "gemini").accessToken != short.accessToken)
    }
  }

  @Test(
    "B-27, AUTH-M5: where an account may not be impersonated the mint fails without detail; never is the own token handed out")
  func impersonationRefused() async throws {
    try await Self.withBroker(Self.capabilities) { broker in
      let denial = #"{"error":{"code":403,"message":"planted_detail","status":"PERMISSION_DENIED"}}"#
      broker.google.set { $0.impersonationFault = .status(403, denial) }
      let failed = try await broker.get("/token?capability=speech", token: broker.idToken())
      #expect(failed.status == 500 && failed.text == "token mint failed")
      #expect(broker.log.all.contains { $0.contains("detail=refused: status 403 PERMISSION_DENIED") })
      #expect(!broker.log.all.contains { $0.contains("planted_detail") || $0.contains(FakeGoogle.tokenPrefix) })
    }
  }

  @Test("AUTH-M10, B-11: with the metadata server no key is needed, and the capabilities come by way of it")
  func metadata() async throws {
    let machine = [
      "PARLEY_AUTH_GOOGLE_SA_JSON": "", "PARLEY_AUTH_CLOUD_METADATA": "true", "PARLEY_AUTH_CLOUD_METADATA_HOST": "{google-host}",
    ]
    try await Self.withBroker(machine.merging(Self.capabilities) { $1 }) { broker in
      #expect(try await broker.exchange(broker.idToken()).accessToken.hasPrefix(FakeGoogle.tokenPrefix))
      let speech = try await broker.exchange(broker.idToken(), capability: "speech")
      #expect(speech.accessToken.hasPrefix(FakeGoogle.impersonatedPrefix + "speech@"))
      let assertions = broker.google.sentAssertions.filter { !$0.isEmpty }
      #expect(assertions.isEmpty)
    }
  }

  @Test("AUTH-M5, AUTH-M10: a capability with the account that the machine runs as ends the start with 78 and is named")
  func machineAccount() async throws {
    try await BrokerDatabase.with { database in
      let google = FakeGoogle()
      google.set { $0.machineAccount = "gemini@p.iam.gserviceaccount.com" }
      let machine = [
        "PARLEY_AUTH_GOOGLE_SA_JSON": "", "PARLEY_AUTH_CLOUD_METADATA": "true",
        "PARLEY_AUTH_CLOUD_METADATA_HOST": "{google-host}",
      ]
      let failure = await #expect(throws: ServiceFailure.self) {
        try await BrokerFixture.with(database, google: google, settings: machine.merging(Self.capabilities) { $1 }) { _ in }
      }
      #expect(failure?.status == .configuration && failure?.message.hasPrefix("capabilities: gemini") == true)
    }
  }

  @Test("AUTH-M10, B-11: by workload identity federation another provider's token in a file becomes a cloud token")
  func federation() async throws {
    try await BrokerDatabase.with { database in
      let path = "\(database.directory)/subject"
      try BrokerFixture.write(Array("planted.subject.token\n".utf8), to: path)
      let configuration = """
        {"type":"external_account","audience":"//iam.googleapis.com/projects/1/x","subject_token_type":"urn:ietf:params:oauth:token-type:jwt",
         "token_url":"{google}/v1/token","credential_source":{"file":"\(path)"},
         "service_account_impersonation_url":"{google}/v1/projects/-/serviceAccounts/own@p.iam.gserviceaccount.com:generateAccessToken"}
        """
      let settings = ["PARLEY_AUTH_GOOGLE_SA_JSON": "", "PARLEY_AUTH_CLOUD_CREDENTIALS": configuration]
      try await BrokerFixture.with(database, settings: settings) { broker in
        let token = try await broker.exchange(broker.idToken())
        #expect(token.accessToken == FakeGoogle.impersonatedPrefix + "own@p.iam.gserviceaccount.com-1")
        #expect(broker.google.sentAssertions.first?.contains("subject_token=planted.subject.token&") == true)
        #expect(!broker.log.all.contains { $0.contains("planted.subject.token") })
      }
    }
  }
}

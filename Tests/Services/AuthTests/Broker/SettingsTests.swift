import AuthAPI
import EventLoop
import ServiceKit
import Testing

@Suite("Broker settings")
struct SettingsTests {
  private static func settings(_ changes: [String: String?]) throws -> Settings {
    var environment = [
      "PARLEY_AUTH_OIDC_CLIENT_IDS": "web", "PARLEY_AUTH_GOOGLE_SA_JSON": try FakeGoogle.serviceAccount(),
      "PARLEY_AUTH_DATABASE_URL": "postgresql://parley_auth@/parley",
      "PARLEY_AUTH_KEY_ENCRYPTION_KEY": "a2V5LWVuY3J5cHRpb24ta2V5LW9mLXRoZS10ZXN0cyE=",
    ]
    for (name, value) in changes { environment[name] = value }
    return try Settings(
      service: "auth", keys: AuthService.configuration + StandardKeys.all(database: true), environment: environment)
  }

  @Test("B-26: the defaults are those of the specification")
  func defaults() throws {
    let settings = try Self.settings([:])
    #expect(settings[BrokerKeys.userPerMinute] == 60 && settings[BrokerKeys.userBurst] == 30)
    #expect(settings[BrokerKeys.addressPerMinute] == 120 && settings[BrokerKeys.addressBurst] == 60)
    #expect(settings[BrokerKeys.cleanupMinutes] == 30 && settings[BrokerKeys.clockSkewSeconds] == 60)
    #expect(settings[BrokerKeys.tokenScope] == "https://www.googleapis.com/auth/cloud-platform")
    #expect(settings[BrokerKeys.minimumRemaining] == .seconds(600) && settings[BrokerKeys.cachesTokens])
    #expect(settings[BrokerKeys.allowedDomain] == "" && !settings[BrokerKeys.gatesWhoAmI])
    #expect(settings[StandardKeys.listen]?.port == 10_000)
  }

  @Test("B-26: the original broker's names still hold")
  func aliases() throws {
    let settings = try Self.settings([
      "PARLEY_AUTH_OIDC_CLIENT_IDS": nil, "OIDC_CLIENT_ID": "one", "PORT": "8080", "RATE_PER_MIN": "7", "RATE_BURST": "3",
      "IP_RATE_PER_MIN": "9",
      "IP_BURST": "4", "RATE_CLEANUP_MINS": "10", "CLOCK_SKEW_SECONDS": "0", "ALLOWED_HD": "example.org", "TOKEN_SCOPE": "s",
      "ISSUER": "https://i.example", "JWKS_URL": "https://i.example/keys", "TOKEN_URI": "https://i.example/token",
    ])
    #expect(settings[BrokerKeys.clientIDs] == ["one"])
    #expect(settings[StandardKeys.listen]?.description == "0.0.0.0:8080")
    #expect(settings[BrokerKeys.userPerMinute] == 7 && settings[BrokerKeys.userBurst] == 3)
    #expect(settings[BrokerKeys.addressPerMinute] == 9 && settings[BrokerKeys.addressBurst] == 4)
    #expect(settings[BrokerKeys.cleanupMinutes] == 10 && settings[BrokerKeys.clockSkewSeconds] == 0)
    #expect(
      settings[BrokerKeys.keySetURL] == "https://i.example/keys" && settings[BrokerKeys.tokenURI] == "https://i.example/token")
  }

  @Test(
    "B-26: what is missing or wrong ends the start and is named",
    arguments: [
      ("PARLEY_AUTH_OIDC_CLIENT_IDS", nil), ("PARLEY_AUTH_OIDC_CLIENT_IDS", " , "),
      ("PARLEY_AUTH_GOOGLE_SA_JSON", "{planted}"), ("PARLEY_AUTH_RATE_PER_MIN", "many"), ("PARLEY_AUTH_RATE_BURST", "0"),
      ("PARLEY_AUTH_CLOCK_SKEW_SECONDS", "301"), ("PARLEY_AUTH_JWKS_URL", "http://keys.example"),
      ("PARLEY_AUTH_SUBJECT_SALT", "short"), ("PARLEY_AUTH_CLOUD_CREDENTIALS", "{planted}"),
      ("PARLEY_AUTH_CLOUD_METADATA_HOST", "metadata.evil.example"), ("PARLEY_AUTH_CLOUD_METADATA", "perhaps"),
      ("PARLEY_AUTH_CLOUD_IMPERSONATION_URL", "http://iam.example"), ("PARLEY_AUTH_CAPABILITIES", "speech"),
      ("PARLEY_AUTH_CAPABILITIES", "default=a@p.iam"), ("PARLEY_AUTH_CAPABILITIES", "Speech=a@p.iam"),
      ("PARLEY_AUTH_CAPABILITIES", "speech=a@p.iam/x"), ("PARLEY_AUTH_CAPABILITIES", "speech=a@p.iam,speech=b@p.iam"),
      ("PARLEY_AUTH_CAPABILITIES", "speech=a@p.iam,gemini=A@p.iam"), ("PARLEY_AUTH_ISSUES_PER_DAY", "-1"),
      ("PARLEY_AUTH_CAPABILITY_ISSUES_PER_DAY", "speech=many"), ("PARLEY_AUTH_CAPABILITY_ISSUES_PER_DAY", "speech=1000001"),
      ("PARLEY_AUTH_KEY_ENCRYPTION_KEY", nil),
      ("PARLEY_AUTH_KEY_ENCRYPTION_KEY", "cGxhbnRlZA=="), ("PARLEY_AUTH_SIGNING_KEY_PERIOD", "1m"),
    ] as [(String, String?)])
  func refused(variable: String, value: String?) throws {
    let error = #expect(throws: ConfigurationError.self) { try Self.settings([variable: value]) }
    #expect(error?.problems.map(\.variable) == [variable])
    #expect(error?.description.contains("planted") == false)
  }

  @Test("The check warns of the key file and of the default token's reach")
  func findings() throws {
    let findings = AuthService.check(try Self.settings([:]))
    #expect(findings.map(\.key).sorted() == ["googleSaJson", "tokenScope"])
    #expect(findings.allSatisfy { $0.severity == .warning })
    #expect(findings.contains { $0.key == "googleSaJson" && $0.message.contains("A KEY FILE IS IN USE") })
  }

  private static let federation = #"""
    {"type":"external_account","audience":"//iam.googleapis.com/x","subject_token_type":"urn:ietf:params:oauth:token-type:jwt",
     "token_url":"https://sts.googleapis.com/v1/token","credential_source":{"file":"/var/run/token"},
     "service_account_impersonation_url":
       "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/own@p.iam.gserviceaccount.com:generateAccessToken"}
    """#

  @Test(
    "AUTH-M10: exactly one credential source must be set, workload identity or a key file, else the check fails and names the keys",
    arguments: [
      ([:], ["warning googleSaJson"]),
      (["PARLEY_AUTH_GOOGLE_SA_JSON": nil], ["error cloud.metadata"]),
      (["PARLEY_AUTH_GOOGLE_SA_JSON": nil, "PARLEY_AUTH_CLOUD_METADATA": "true"], []),
      (["PARLEY_AUTH_GOOGLE_SA_JSON": nil, "PARLEY_AUTH_CLOUD_CREDENTIALS": federation], []),
      (["PARLEY_AUTH_CLOUD_METADATA": "true"], ["error cloud.metadata"]),
      (["PARLEY_AUTH_CLOUD_CREDENTIALS": federation], ["error cloud.credentials"]),
      (
        ["PARLEY_AUTH_GOOGLE_SA_JSON": nil, "PARLEY_AUTH_CLOUD_METADATA": "true", "PARLEY_AUTH_CLOUD_CREDENTIALS": federation],
        ["error cloud.metadata"]
      ),
    ] as [([String: String?], [String])])
  func sources(changes: [String: String?], expected: [String]) throws {
    let findings = AuthService.check(try Self.settings(changes)).filter { $0.key != "tokenScope" }
    #expect(findings.map { "\($0.severity) \($0.key)" } == expected)
    if expected.first?.hasPrefix("error") == true {
      #expect(findings[0].message.contains("cloud.metadata, cloud.credentials and googleSaJson"))
    }
  }

  @Test(
    "AUTH-M5: the check refuses a capability with the broker's own account, and caps of what is no capability",
    arguments: [
      (["PARLEY_AUTH_CAPABILITIES": "speech=Broker@p.iam.gserviceaccount.com"], ["capabilities"]),
      (["PARLEY_AUTH_CAPABILITIES": "speech=speech@p.iam.gserviceaccount.com"], []),
      (
        [
          "PARLEY_AUTH_GOOGLE_SA_JSON": nil, "PARLEY_AUTH_CLOUD_CREDENTIALS": federation,
          "PARLEY_AUTH_CAPABILITIES": "speech=speech@p.iam.gserviceaccount.com,gemini=own@p.iam.gserviceaccount.com",
        ], ["capabilities"]
      ),
      (["PARLEY_AUTH_CAPABILITY_ISSUES_PER_DAY": "default=5"], []),
      (["PARLEY_AUTH_CAPABILITY_ISSUES_PER_DAY": "speech=5"], ["capabilityIssuesPerDay"]),
      (["PARLEY_AUTH_CAPABILITY_ISSUES_PER_DAY": "default=5,default=6"], ["capabilityIssuesPerDay"]),
    ] as [([String: String?], [String])])
  func capabilities(changes: [String: String?], errors: [String]) throws {
    let findings = AuthService.check(try Self.settings(changes))
    #expect(findings.filter { $0.severity == .error }.map(\.key) == errors)
  }
}

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
      ("PARLEY_AUTH_OIDC_CLIENT_IDS", nil), ("PARLEY_AUTH_OIDC_CLIENT_IDS", " , "), ("PARLEY_AUTH_GOOGLE_SA_JSON", nil),
      ("PARLEY_AUTH_GOOGLE_SA_JSON", "{planted}"), ("PARLEY_AUTH_RATE_PER_MIN", "many"), ("PARLEY_AUTH_RATE_BURST", "0"),
      ("PARLEY_AUTH_CLOCK_SKEW_SECONDS", "301"), ("PARLEY_AUTH_JWKS_URL", "http://keys.example"),
      ("PARLEY_AUTH_SUBJECT_SALT", "short"), ("PARLEY_AUTH_KEY_ENCRYPTION_KEY", nil),
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
  }
}

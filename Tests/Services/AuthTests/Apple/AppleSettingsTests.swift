import AppleProvider
import JOSE
import ServiceKit
import Testing

@testable import AuthAPI

@Suite("Settings of Sign in with Apple")
struct AppleSettingsTests {
  private static func settings(_ changes: [String: String]) throws -> Settings {
    var environment = [
      "PARLEY_AUTH_OIDC_CLIENT_IDS": "web", "PARLEY_AUTH_GOOGLE_SA_JSON": try FakeGoogle.serviceAccount(),
      "PARLEY_AUTH_DATABASE_URL": "postgresql://parley_auth@/parley",
      "PARLEY_AUTH_KEY_ENCRYPTION_KEY": "a2V5LWVuY3J5cHRpb24ta2V5LW9mLXRoZS10ZXN0cyE=",
    ]
    environment.merge(changes) { $1 }
    return try Settings(
      service: "auth", keys: AuthService.configuration + StandardKeys.all(database: true), environment: environment)
  }

  private static let offered = ["PARLEY_AUTH_APP_SETTINGS": #"{"default":{"apple":{"audiences":["org.example.app"]}}}"#]

  private static func credential() throws -> [String: String] {
    [
      "PARLEY_AUTH_APPLE_TEAM_ID": "TEAM123456", "PARLEY_AUTH_APPLE_KEY_ID": "ABC1234567",
      "PARLEY_AUTH_APPLE_PRIVATE_KEY": try FakeApple.curveKey.privatePEM(),
    ]
  }

  private static func findings(_ changes: [String: String]) throws -> [ConfigurationFinding] {
    AuthService.check(try settings(changes)).filter { $0.key.hasPrefix("apple.") }
  }

  @Test("The defaults are Apple's own addresses and ten minutes")
  func defaults() throws {
    let settings = try Self.settings([:])
    #expect(settings[AppleKeys.issuers] == ["https://appleid.apple.com"])
    #expect(settings[AppleKeys.tokenURL] == "https://appleid.apple.com/auth/token")
    #expect(settings[AppleKeys.revokeURL] == "https://appleid.apple.com/auth/revoke")
    #expect(settings[AppleKeys.keySetURL] == nil && settings[AppleKeys.maximumTokenAge] == .seconds(600))
    #expect(try AppleKeys.credential(settings) == nil)
    #expect(try AppleKeys.credential(try Self.settings(try Self.credential()))?.teamID == "TEAM123456")
  }

  @Test(
    "What is wrong ends the start and is named, without the key",
    arguments: [
      ("PARLEY_AUTH_APPLE_TEAM_ID", "team"), ("PARLEY_AUTH_APPLE_KEY_ID", "ABC12345678"),
      ("PARLEY_AUTH_APPLE_PRIVATE_KEY", "planted"), ("PARLEY_AUTH_APPLE_JWKS_URL", "http://keys.example"),
      ("PARLEY_AUTH_APPLE_TOKEN_URL", "ftp://x"), ("PARLEY_AUTH_APPLE_REVOKE_URL", "http://apple.example"),
      ("PARLEY_AUTH_APPLE_ISSUERS", ","),
      ("PARLEY_AUTH_SIGN_IN_MAX_TOKEN_AGE", "59s"),
    ])
  func refused(variable: String, value: String) throws {
    let error = #expect(throws: ConfigurationError.self) { try Self.settings([variable: value]) }
    #expect(error?.problems.map(\.variable) == [variable])
    #expect(error?.description.contains("planted") == false)
  }

  @Test("The check wants all of team, key id and key or none, and warns where Apple's tokens could not be revoked")
  func findings() throws {
    #expect(try Self.findings([:]).isEmpty)
    #expect(try Self.findings(Self.offered).map(\.severity) == [.warning])
    #expect(try Self.findings(Self.offered.merging(Self.credential()) { $1 }).isEmpty)
    #expect(try Self.findings(Self.credential()).map(\.severity) == [.warning])
    var partial = try Self.credential()
    partial["PARLEY_AUTH_APPLE_KEY_ID"] = nil
    #expect(try Self.findings(Self.offered.merging(partial) { $1 }).map(\.severity) == [.error])
  }
}

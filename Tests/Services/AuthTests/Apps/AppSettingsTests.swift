import AuthDomain
import ServiceKit
import Testing

@testable import AuthAPI

@Suite("Apps and their settings")
struct AppSettingsTests {
  private static func settings(_ changes: [String: String]) throws -> Settings {
    var environment = [
      "PARLEY_AUTH_OIDC_CLIENT_IDS": "web,ios", "PARLEY_AUTH_GOOGLE_SA_JSON": try FakeGoogle.serviceAccount(),
      "PARLEY_AUTH_DATABASE_URL": "postgresql://parley_auth@/parley",
      "PARLEY_AUTH_KEY_ENCRYPTION_KEY": "a2V5LWVuY3J5cHRpb24ta2V5LW9mLXRoZS10ZXN0cyE=",
    ]
    environment.merge(changes) { $1 }
    return try Settings(
      service: "auth", keys: AuthService.configuration + StandardKeys.all(database: true), environment: environment)
  }

  private static let two = """
    {"rapture": {"google": {"audiences": ["r-web", "r-ios"]}, "apple": {"audiences": ["org.rapture"], "nonce": "raw"},
                 "brand": "Rapture", "limits": {"signIn": {"perMinute": 6, "burst": 2}}},
     "bruh": {"apple": {"audiences": ["org.bruh"]}}}
    """

  private static func findings(_ changes: [String: String]) throws -> [ConfigurationFinding] {
    let keys = AppKeys.all.map(\.name)
    return AuthService.check(try settings(changes)).filter { keys.contains($0.key) }
  }

  @Test("Without settings there is one app, default, for the broker's client ids")
  func oneApp() throws {
    let apps = try AppKeys.catalogue(try Self.settings([:]))
    #expect(apps.all.map(\.name) == ["default"])
    #expect(apps.default.google == .init(audiences: ["web", "ios"], nonceForm: .raw))
    #expect(apps.default.apple == .init(audiences: [], nonceForm: .sha256))
    #expect(apps.default.offers(.google) && !apps.default.offers(.apple))
    #expect(apps.default.limits == .init())
    #expect(try Self.findings([:]).isEmpty)
  }

  @Test("Each app has audiences, nonce forms, a brand and limits of its own")
  func twoApps() throws {
    let changes = ["PARLEY_AUTH_APPS": "rapture, bruh", "PARLEY_AUTH_APP_SETTINGS": Self.two]
    let apps = try AppKeys.catalogue(try Self.settings(changes))
    let rapture = try #require(apps["rapture"])
    #expect(apps.default == rapture && apps[""] == rapture && apps["nobody"] == nil)
    #expect(rapture.google == .init(audiences: ["r-web", "r-ios"], nonceForm: .raw))
    #expect(rapture.apple == .init(audiences: ["org.rapture"], nonceForm: .raw))
    #expect(rapture.brand == "Rapture" && rapture.limits == .init(signIn: RateLimit(perMinute: 6, burst: 2)))
    let bruh = try #require(apps["bruh"])
    #expect(bruh[.apple] == .init(audiences: ["org.bruh"], nonceForm: .sha256))
    #expect(bruh.brand == "bruh" && !bruh.offers(.google))
    #expect(try Self.findings(changes).isEmpty)
  }

  @Test(
    "A wrong document ends the start and the place is named",
    arguments: [
      ("{", "not JSON"), ("[]", "not a JSON object"), (#"{"a": 1}"#, "a is not an object"),
      (#"{"a": {"gogle": {}}}"#, "a has an unknown member 'gogle'"),
      (#"{"a": {"google": {"audience": ["x"]}}}"#, "a.google has an unknown member 'audience'"),
      (#"{"a": {"google": {"audiences": "x"}}}"#, "a.google.audiences is not a list of texts"),
      (#"{"a": {"google": {"audiences": [""]}}}"#, "a.google.audiences is not a list of texts"),
      (#"{"a": {"apple": {"nonce": "md5"}}}"#, "a.apple.nonce is not one of raw, sha256"),
      (#"{"a": {"brand": ""}}"#, "a.brand is not a text"),
      (#"{"a": {"limits": {"signIn": {"perMinute": 0, "burst": 1}}}}"#, "a.limits.signIn.perMinute is not a whole number"),
      (#"{"a": {"limits": {"refresh": {"perMinute": 1}}}}"#, "a.limits.refresh.burst is not a whole number"),
      (#"{"a": {}, "a": {}}"#, "not JSON"),
    ])
  func wrongDocument(text: String, complaint: String) throws {
    let error = #expect(throws: ConfigurationError.self) { try Self.settings(["PARLEY_AUTH_APP_SETTINGS": text]) }
    #expect(error?.problems.map(\.variable) == ["PARLEY_AUTH_APP_SETTINGS"])
    #expect(error?.description.contains(complaint) == true, "\(String(describing: error))")
  }

  @Test(
    "A name of an app is a small letter and at most 31 small letters, digits and hyphens",
    arguments: [
      ("a", nil), ("a-1", nil), (String(repeating: "a", count: 32), nil), (String(repeating: "a", count: 33), "no name"),
      ("A", "no name"), ("1a", "no name"), ("-a", "no name"), ("a_b", "no name"), ("é", "no name"), ("a,b,a", "named twice"),
      (",", "at least one"),
    ] as [(String, String?)])
  func names(_ names: String, _ complaint: String?) throws {
    do {
      let settings = try Self.settings(["PARLEY_AUTH_APPS": names])
      #expect(complaint == nil && settings[AppKeys.names] == [names])
    } catch let error as ConfigurationError {
      #expect(error.problems.map(\.variable) == ["PARLEY_AUTH_APPS"])
      #expect(complaint.map { error.description.contains($0) } == true, "\(error)")
    }
  }

  @Test("The check finds apps that nobody can sign in to, that are not listed, and audiences that are shared")
  func checks() throws {
    let unlisted = try Self.findings(["PARLEY_AUTH_APP_SETTINGS": Self.two])
    #expect(unlisted.map(\.severity) == [.error, .error])
    #expect(unlisted.allSatisfy { $0.message.contains("which apps does not list") })
    let mute = try Self.findings(["PARLEY_AUTH_APPS": "default,mute"])
    #expect(mute.map(\.severity) == [.error] && mute[0].message.contains("'mute'"))
    let shared = try Self.findings([
      "PARLEY_AUTH_APPS": "a,b",
      "PARLEY_AUTH_APP_SETTINGS": #"{"a": {"apple": {"audiences": ["x"]}}, "b": {"apple": {"audiences": ["x", "y"]}}}"#,
    ])
    #expect(shared.map(\.severity) == [.warning] && shared[0].message.contains("apple tokens for 'x'"))
  }
}

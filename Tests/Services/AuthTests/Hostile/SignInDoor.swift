import AppleProvider
import EventLoop
import GoogleProvider
import JOSE
import JSON
import OpenID
import TestSupport

/// The way in of one provider, as sign-in uses it: the real verifier, keys that are fetched, a virtual clock.
struct SignInDoor: Sendable {
  /// Whose door it is.
  enum Provider: String, Sendable, CaseIterable {
    case google
    case apple

    var issuer: String { self == .google ? "https://accounts.google.com" : "https://appleid.apple.com" }
    var audience: String { self == .google ? FakeGoogle.clientID : FakeApple.bundleID }
    /// Signs as the provider does.
    var key: SigningKey { self == .google ? FakeGoogle.key : FakeApple.key }
    /// Has the provider's key id and nothing else of it.
    var impostor: SigningKey { self == .google ? FakeGoogle.impostor : FakeApple.impostor }

    func claims(at now: Int64 = FakeGoogle.now, _ changes: [(String, JSONValue?)] = []) -> JSONObject {
      self == .google ? FakeGoogle.claims(at: now, changes) : FakeApple.claims(at: now, changes)
    }

    /// A token as the provider makes it, but for these claims.
    func token(at now: Int64 = FakeGoogle.now, _ changes: [(String, JSONValue?)] = []) -> String {
      (try? key.sign(claims: claims(at: now, changes))) ?? ""
    }

    /// A token over exactly these texts, honestly signed whatever they say.
    func sign(header: String, payload: String, key: SigningKey? = nil) -> String {
      let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8))
      return input + "." + Base64URL.encode((try? (key ?? self.key).signature(of: Array(input.utf8))) ?? [])
    }
  }

  let provider: Provider
  let clock: VirtualClock
  let log: CapturedLog
  let keys: JWKSCache
  let fixture: (google: GoogleFixture, apple: AppleFixture)
  private let google: GoogleIDTokenVerifier

  init(_ provider: Provider, _ group: EventLoopGroup) {
    self.provider = provider
    fixture = (GoogleFixture(group), AppleFixture(group))
    // The provider's set holds a key for another algorithm too.
    fixture.google.google.set { $0.keys = [FakeGoogle.key, FakeApple.curveKey] }
    let policy = GoogleIDTokenPolicy(audiences: [FakeGoogle.clientID], maximumAge: .seconds(600), requiresSubject: true)
    google = GoogleIDTokenVerifier(policy, keys: fixture.google.keys, loops: group.loops, clock: fixture.google.clock.google)
    (clock, log, keys) =
      provider == .google
      ? (fixture.google.clock, fixture.google.log, fixture.google.keys)
      : (fixture.apple.clock, fixture.apple.log, fixture.apple.keys)
  }

  /// `accepted`, or the reason of the refusal.
  func verdict(_ token: String) async -> String {
    guard provider == .google else { return await fixture.apple.verdict(token) }
    do throws(IDTokenError) {
      _ = try await google.verify(token)
      return "accepted"
    } catch {
      return error.code == .rejected ? error.reason : error.code.description
    }
  }

  /// How often the keys were asked for.
  var fetches: Int { keys.fetchCount }

  /// A token of somebody new, issued at this moment.
  func freshToken(_ subject: String) -> String {
    provider.token(at: clock.wall.components.seconds, [("sub", .string(subject))])
  }
}

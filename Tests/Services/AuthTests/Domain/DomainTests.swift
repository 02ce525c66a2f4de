import AuthDomain
import Testing
import Values

@Suite("Broker domain")
struct DomainTests {
  private static let start = Instant(seconds: 1_800_000_000)

  @Test(
    "B-15: Retry-After is rounded up and at least 1",
    arguments: [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (2500, 3), (-5, 1)])
  func retryAfter(milliseconds: Int, seconds: Int64) {
    #expect(RetryAfter.seconds(until: Self.start.advanced(by: .milliseconds(milliseconds)), from: Self.start) == seconds)
  }

  @Test(
    "B-14: the bearer token is found whatever the case of its scheme, and in exactly one field",
    arguments: [
      (["Bearer abc"], "abc"), (["bearer abc"], "abc"), (["BEARER \t abc  "], "abc"), (["  Bearer abc"], "abc"), ([], nil),
      ([""], nil), (["Bearer"], nil), (["Bearer   "], nil), (["Basic abc"], nil), (["Bearerabc"], nil), (["abc"], nil),
      (["Bearer abc", "Bearer abc"], nil),
    ] as [([String], String?)])
  func bearer(fields: [String], token: String?) { #expect(BearerToken.read(fields) == token) }

  @Test(
    "B-20: the domain gate compares without case and blanks, and closes to accounts without a domain",
    arguments: [
      ("", nil, true), (" ", nil, true), ("", "other.org", true), ("example.org", "example.org", true),
      ("Example.ORG ", " exAmple.org", true), ("example.org", nil, false), ("example.org", "", false),
      ("example.org", "example.org.evil.com", false), ("example.org", "sub.example.org", false), ("k.org", "\u{212A}.org", false),
    ] as [(String, String?, Bool)])
  func gate(allowed: String, hostedDomain: String?, admits: Bool) { #expect(DomainGate(allowed).admits(hostedDomain) == admits) }

  @Test("The steps of an exchange are those of the specification, in its order")
  func order() {
    #expect(
      BrokerOperation.exchange.steps() == [
        .limitAddress, .readAuthorization, .verifyToken, .gateDomain, .requireSubject, .limitUser, .chooseCapability, .checkStop,
        .checkCap, .mint, .record,
      ])
    #expect(BrokerOperation.whoAmI.steps() == [.limitAddress, .readAuthorization, .verifyToken, .requireSubject, .limitUser])
    #expect(BrokerOperation.whoAmI.steps(gatesWhoAmI: true)[3] == .gateDomain)
  }

  @Test("The texts for callers are those of the specification")
  func texts() {
    #expect(Refusal.Kind.addressLimited.text == "rate limit (ip)")
    #expect(Refusal.Kind.userLimited.text == "rate limit (user)")
    #expect(Refusal.Kind.missingAuthorization.text == "missing or invalid Authorization header")
    #expect(Refusal.Kind.invalidIDToken.text == "invalid id token")
    #expect(Refusal.Kind.wrongDomain.text == "forbidden: wrong domain")
    #expect(Refusal.Kind.noSubject.text == "no subject")
    #expect(Refusal.Kind.mintFailed.text == "token mint failed")
    #expect(Refusal.Kind.keysUnavailable.text == "keys unavailable")
  }

  @Test(
    "B-12: expires_in is what is left, rounded down; 3600 if unknown, 0 if past",
    arguments: [(3_600_000, 3600), (3_599_999, 3599), (999, 0), (0, 0), (-5000, 0), (nil, 3600)] as [(Int?, Int64)])
  func secondsLeft(milliseconds: Int?, seconds: Int64) {
    let token = AccessToken(value: "t", expiresAt: milliseconds.map { Self.start.advanced(by: .milliseconds($0)) })
    #expect(token.secondsLeft(at: Self.start) == seconds)
    #expect(!"\(token)".contains("\"t\"") && !String(reflecting: token).contains("\"t\""))
  }

  @Test("An absent or empty capability is the default one, an unknown one is none")
  func capabilities() {
    let catalogue = CapabilityCatalogue(defaultScopes: ["a", "b"], named: [Capability(name: "speech", scopes: ["c"])])
    #expect(catalogue.capability(nil)?.scope == "a b")
    #expect(catalogue.capability("")?.name == "default")
    #expect(catalogue.capability("speech")?.scope == "c")
    #expect(catalogue.capability("other") == nil)
  }
}

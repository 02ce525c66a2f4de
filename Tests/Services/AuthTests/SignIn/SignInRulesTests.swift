import AuthDomain
import Testing
import Values

@Suite("Rules of signing in")
struct SignInRulesTests {
  private static func identity(
    nonce: String? = nil, supportsNonce: Bool = true, email: String? = nil, isPrivate: Bool = false, name: String? = nil
  ) -> VerifiedIdentity {
    VerifiedIdentity(
      provider: .apple, subject: "s", audience: "a", email: email, emailIsPrivate: isPrivate, name: name, nonce: nonce,
      supportsNonce: supportsNonce, issuedAt: Instant(seconds: 0), expiresAt: Instant(seconds: 600))
  }

  @Test(
    "B-45: a token's nonce is judged by the form that the app uses",
    arguments: [
      (NonceForm.raw, "plain", true, nil), (.raw, "hash", true, .nonceForm), (.raw, "other", true, .nonceMismatch),
      (.raw, nil, true, .nonceMissing), (.raw, "", true, .nonceMissing), (.raw, nil, false, nil),
      (.raw, "other", false, .nonceMismatch), (.sha256, "hash", true, nil), (.sha256, "plain", true, .nonceForm),
      (.sha256, "HASH", true, .nonceMismatch), (.sha256, nil, true, .nonceMissing), (.sha256, nil, false, nil),
    ] as [(NonceForm, String?, Bool, AccountRefusal.Kind?)])
  func nonce(form: NonceForm, claim: String?, supported: Bool, refusal: AccountRefusal.Kind?) {
    var kind: AccountRefusal.Kind?
    do throws(AccountRefusal) {
      try NonceRule(form).judge(Self.identity(nonce: claim, supportsNonce: supported), nonce: "plain", hashed: "hash")
    } catch { kind = error.kind }
    #expect(kind == refusal)
  }

  @Test(
    "B-45: a new account is called by the given name, else the address up to its @, else User",
    arguments: [
      ("Ana", "Other", "ana@example.org", false, "Ana"), (nil, "Ana Luz", "x@example.org", false, "Ana Luz"),
      (nil, nil, "ana.luz@example.org", false, "ana.luz"), ("  ", "", "ana@example.org", false, "ana"),
      (nil, nil, "k3j2@privaterelay.appleid.com", true, "User"), (nil, nil, nil, false, "User"),
      (nil, nil, "@example.org", false, "User"), (nil, nil, "no address", false, "User"), ("A\u{0}na\n", nil, nil, false, "Ana"),
      (String(repeating: "é", count: 300), nil, nil, false, String(repeating: "é", count: 100)),
    ] as [(String?, String?, String?, Bool, String)])
  func name(told: String?, claimed: String?, email: String?, isPrivate: Bool, name: String) {
    #expect(
      PersonName.proposed(told: told, for: Self.identity(email: email, isPrivate: isPrivate, name: claimed)) == name)
  }

  @Test(
    "B-46: a chosen name has 1 to 100 characters and no control character",
    arguments: [
      ("Ana", "Ana"), (" Ana ", "Ana"), ("", nil), (" \n ", nil), ("A\u{7}", nil),
      (String(repeating: "x", count: 100), String(repeating: "x", count: 100)), (String(repeating: "x", count: 101), nil),
      ("e" + String(repeating: "\u{301}", count: 5000), nil), ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"),
    ] as [(String, String?)])
  func chosen(text: String, name: String?) { #expect(PersonName.chosen(text) == name) }

  @Test("Identifiers are written and read as UUIDs, whatever their bits")
  func identifiers() {
    for (high, low, text) in [
      (0x0192_f3a4_b5c6_7d8e, 0x9fff_ffff_ffff_ffff, "0192f3a4-b5c6-7d8e-9fff-ffffffffffff"),
      (UInt64.max, UInt64.max, "ffffffff-ffff-ffff-ffff-ffffffffffff"), (0, 0, "00000000-0000-0000-0000-000000000000"),
    ] as [(UInt64, UInt64, String)] {
      #expect(SessionID(high: high, low: low).description == text)
      #expect(SessionID(text) == SessionID(high: high, low: low) && SessionID(text.uppercased()) == SessionID(text))
    }
    for text in ["", "0192f3a4-b5c6-7d8e-9fff-fffffffffff", "0192f3a4xb5c6-7d8e-9fff-ffffffffffff"] {
      #expect(SessionID(text) == nil)
    }
  }

  @Test("Every refusal has a reason and a text of its own kind")
  func reasons() {
    for kind in AccountRefusal.Kind.allCases { #expect(!kind.reason.isEmpty && !kind.text.isEmpty) }
    // Keys to check with and keys to sign with are told alike.
    #expect(Set(AccountRefusal.Kind.allCases.map(\.reason)).count == AccountRefusal.Kind.allCases.count - 1)
  }
}

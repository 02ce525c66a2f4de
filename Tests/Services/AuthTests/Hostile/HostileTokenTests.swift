import Testing

@Suite("Hostile sign-in tokens")
struct HostileSignInTests {
  @Test("AUTH-M1, B-04, B-07: each hostile token is refused for its own reason", arguments: SignInDoor.Provider.allCases)
  func refused(_ provider: SignInDoor.Provider) async throws {
    try await withLoops(1) { group in
      let door = SignInDoor(provider, group)
      #expect(await door.verdict(provider.token()) == "accepted")
      for hostile in HostileToken.table(provider) {
        #expect(await door.verdict(hostile.token) == hostile.reason, "\(hostile.name)")
      }
      #expect(await door.verdict(provider.token()) == "accepted")
    }
  }

  /// Every word that a verifier of ID tokens has for why it refuses; a new one is brought about by a token here.
  private static let words: Set<String> = [
    "too_large", "part_count", "part_empty", "base64_invalid", "header_invalid", "payload_invalid", "algorithm_missing",
    "algorithm_not_allowed", "critical_header", "header_not_allowed", "kid_missing", "kid_invalid", "key_unknown",
    "key_not_allowed", "signature_invalid", "issuer_missing", "issuer_malformed", "issuer_mismatch", "audience_missing",
    "audience_malformed", "audience_empty", "audience_mismatch", "authorized_party_malformed", "authorized_party_mismatch",
    "expiry_missing", "expiry_malformed", "expired", "issued_at_missing", "issued_at_malformed", "issued_in_future", "too_old",
    "not_before_malformed", "not_yet_valid", "subject_missing", "subject_malformed", "subject_empty", "subject_too_long",
    "nonce_malformed", "nonce_empty", "email_malformed", "email_verified_malformed", "is_private_email_malformed",
    "nonce_supported_malformed",
  ]

  @Test("AUTH-M1: the tables hold 150 hostile tokens and more, no two the same, and bring about every reason there is")
  func sizes() {
    let tables = SignInDoor.Provider.allCases.map(HostileToken.table)
    for table in tables {
      #expect(table.count >= 150)
      #expect(Dictionary(grouping: table, by: \.name).filter { $1.count > 1 }.keys.sorted() == [])
      #expect(Dictionary(grouping: table, by: \.token).filter { $1.count > 1 }.values.map { $0.map(\.name) } == [])
    }
    print("hostile tokens: \(tables.map(\.count)), \(Set(tables.joined().map(\.reason)).count) reasons")
    #expect(Set(tables.joined().map(\.reason)) == Self.words)
  }
}

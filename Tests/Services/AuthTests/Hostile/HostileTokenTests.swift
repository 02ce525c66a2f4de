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

  @Test("AUTH-M1: the tables hold 150 hostile tokens and more, each once, and forty distinct reasons")
  func sizes() {
    let tables = SignInDoor.Provider.allCases.map(HostileToken.table)
    for table in tables {
      #expect(table.count >= 110)
      #expect(Dictionary(grouping: table, by: \.name).filter { $1.count > 1 }.keys.sorted() == [])
    }
    #expect(tables.joined().count >= 220)
    #expect(Set(tables.joined().map(\.reason)).count >= 40)
  }
}

import PostgreSQL
import RPC
import TestAPI
import Testing
import Values

@testable import ServiceKit

@Suite("Ownership by option", .serialized)
struct OwnershipTests {
  @Test("B-48: an account in a request that is not the caller's own is refused before the handler runs, unary and streaming")
  func foreign() async throws {
    try await PolicyFixture.with { fixture in
      let (ana, ben) = (PolicyFixture.ana.description, PolicyFixture.ben.description)
      for (named, expected) in [(ana, "OK"), (ana.uppercased(), "OK"), ("", "OK"), (ben, "no"), ("x", "no"), (ana + " ", "no")] {
        let wanted = expected == "OK" ? "OK" : "PERMISSION_DENIED NOT_YOUR_OWN"
        let unary = await outcome {
          try await fixture.notes.importNotes(.init(userID: named), options: PolicyFixture.options())
        }
        #expect(unary == wanted, "\(named)")
        let streamed = await outcome {
          try await fixture.notes.readNotes(.init(userID: named), options: PolicyFixture.options()) { responses in
            var names: [String] = []
            for try await response in responses { names.append(response.note?.id ?? "") }
            #expect(names == [named])
          }
        }
        #expect(streamed == wanted, "\(named)")
      }
      let nobody = await outcome { try await fixture.notes.importNotes(.init(userID: ana)) }
      #expect(nobody == "UNAUTHENTICATED MISSING_AUTHORIZATION")
    }
  }
}

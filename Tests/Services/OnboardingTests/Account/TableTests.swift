import EventLoop
import OnboardingStore
import ParleyAPI
import PostgreSQL
import RPC
import ServiceKit
import TestParley
import TestSupport
import Testing
import Values

@testable import OnboardingAPI

@Suite("Tables of onboarding", .serialized)
struct TableTests {
  private static func walk(_ world: OnboardingWorld, of person: UUID) async throws -> TableWalk {
    try await TableWalk("onboarding", OnboardingAPI.OnboardingService.tables, of: person) { query in
      try await world.execute([query])
    } rows: { query in
      try await world.parley.withDatabase { try await $0.rows(query, as: String.self) }
    }
  }

  @Test("No table and no column is without a declaration, and who is declared to remove rows runs")
  func declared() async throws {
    try await OnboardingWorld.with { world in
      let undeclared = try await Self.walk(world, of: .v7()).undeclared()
      #expect(undeclared == [])
      let keys = Set(OnboardingAPI.OnboardingService.keys.map(\.name))
      for table in OnboardingAPI.OnboardingService.tables {
        #expect(!table.removers.isEmpty && !table.bound.isEmpty && !table.after.isEmpty, "\(table.name)")
        let runs = world.instance.maintenance
        for case .task(let name) in table.removers {
          #expect(runs.contains(name), "\(table.name): there is no \(name) among \(runs.sorted())")
        }
        #expect(DeclaredTables.settings(in: table.after).isSubset(of: keys), "\(table.name): \(table.after)")
      }
    }
  }

  @Test("The service's README shows the declarations as they are")
  func shown() throws {
    try DeclaredTables.compare(OnboardingAPI.OnboardingService.tables, with: "Sources/Services/Onboarding/README.md")
  }

  @Test("Every column of a person is exported, or says why not; and goes with the account, or says why not")
  func ofPerson() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let user = try ana.databaseID()
      let walk = try await Self.walk(world, of: user)
      let job = UUID.v7().description
      let stage = UUID.v7().description
      let submission = UUID.v7().description
      try await walk.fill(
        given: [
          "recording": ["state": "done", "stage_id": stage, "size": "32", "format": "wav", "media_type": "audio/wav"],
          "staged_bytes": ["stage_id": stage, "start": "0"],
          "identity_field": ["source": "answer"], "voice": ["state": "ready"], "submission": ["stage": "done", "id": submission],
          "submission_warning": ["submission_id": submission],
          "job": ["id": job], "job_step": ["job_id": job], "rate_limit": ["key": "writing:\(user)"],
        ],
        skipping: ["departure"])
      let held = try await walk.held(where: ["rate_limit": "key like 'writing:%'", "job_step": "true"])
      let empty = held.filter { $0.value.isEmpty }.keys.sorted()
      // Only a deletion leaves one.
      #expect(empty == ["departure.user_id"], "\(empty)")
      try await world.withAccountData { data in
        let options = OnboardingWorld.withoutSession()
        let text = try await data.export(.init(userID: user.description), options: options) { responses in
          var text = ""
          for try await part in responses { text += String(decoding: Array(part.data), as: UTF8.self) }
          return text
        }
        #expect(walk.missing(held, in: text) == [])
        _ = try await data.delete(
          .init(userID: user.description, workID: UUID.v7().description), options: options)
        let left = try await walk.left(held)
        #expect(left == [])
      }
    }
  }
}

import AuthStore
import EventLoop
import ParleyAPI
import PostgreSQL
import RPC
import ServiceKit
import TestSupport
import Testing
import Values

@testable import AuthAPI

@Suite("Tables of auth", .serialized)
struct TableTests {
  private static func walk(_ world: AccountDataWorld, of person: UUID) async throws -> TableWalk {
    let database = world.database
    return try await TableWalk("auth", AuthAPI.AuthService.tables, of: person) { query in
      let _: [String] = try await database.values(query)
    } rows: {
      try await database.values($0)
    }
  }

  @Test("No table and no column is without a declaration, and who is declared to remove rows runs")
  func declared() async throws {
    try await AccountDataWorld.running([]) { service, world in
      let undeclared = try await Self.walk(world, of: .v7()).undeclared()
      #expect(undeclared == [])
      let keys = Set(AuthAPI.AuthService.keys.map(\.name))
      for table in AuthAPI.AuthService.tables {
        #expect(!table.removers.isEmpty && !table.bound.isEmpty && !table.after.isEmpty, "\(table.name)")
        for case .task(let name) in table.removers {
          #expect(
            service.instance.maintenance.contains(name),
            "\(table.name): there is no \(name) among \(service.instance.maintenance.sorted())")
        }
        #expect(DeclaredTables.settings(in: table.after).isSubset(of: keys), "\(table.name): \(table.after)")
      }
    }
  }

  @Test("The service's README shows the declarations as they are")
  func shown() throws { try DeclaredTables.compare(AuthAPI.AuthService.tables, with: "Sources/Services/Auth/README.md") }

  @Test("Every column of a person is exported, or says why not; and goes with the account, or says why not")
  func ofPerson() async throws {
    try await AccountDataWorld.running([]) { service, world in
      let ana = try await service.signIn("ana-of-the-tables")
      let access = ana.tokens?.accessToken ?? ""
      let id = UUID(ana.profile?.userID ?? "")
      let user = try #require(id)
      _ = try await service.exchange(service.idToken("ana-of-the-tables"))
      let subject: String = try #require(try await world.database.value("select subject_hash from auth.token_issuance"))
      let walk = try await Self.walk(world, of: user)
      let job = UUID.v7().description
      let customer = "mark-customer_lookup-customer_id"
      try await walk.fill(
        given: [
          "token_issuance": ["*": "true"], "capability_use": ["subject_hash": subject], "provider_grant": ["provider": "google"],
          "customer_lookup": ["cause": "named"], "entitlement": ["customer_id": customer],
          "webhook_event": [
            "customers": "{\(customer)}", "transferred_from": "{\(customer)}", "transferred_to": "{\(customer)}",
            "body": #"{"mark": "webhook_event"}"#,
          ], "job": ["id": job], "job_step": ["job_id": job],
          "activity": ["outcome": "done"], "account_work": ["kind": "export"],
          "rate_limit": ["key": "account:\(user)"],
        ],
        fixed: [
          "identity_lookup.subject", "session.id", "session.token_hash", "session.spent_hash", "session.spent_attempt",
          "session_lookup.session_id", "token_issuance.subject_hash", "activity.session_id",
        ],
        skipping: ["revocation", "rate_limit"])
      let held = try await walk.held(where: [
        "token_issuance": "true", "capability_use": "true", "webhook_event": "true", "job_step": "true", "revocation": "true",
        "kill_switch": "true", "kill_switch_change": "true", "forgotten_customer": "true",
      ])
      let empty = held.filter { $0.value.isEmpty }.keys.sorted()
      // Tokens that have not been exchanged, and what only an end leaves.
      #expect(empty == ["rate_limit.key", "revocation.session_id", "session.spent_attempt", "session.spent_hash"], "\(empty)")

      let export = try await service.export(access)
      #expect(export.state == .done)
      let parts = try documents(try await service.download(export.id, access))
      let text = parts.values.map { String(decoding: $0, as: UTF8.self) }.joined()
      #expect(walk.missing(held, in: text) == [])

      _ = try await service.deleted(try await service.deleteAccount(access).receipt)
      let left = try await walk.left(held)
      #expect(left == [])
    }
  }
}

import AuthDomain
import DemoService
import ParleyAPI
import RPC
import RPCClient
import TestAPI
import TestParley
import TestSupport
import Testing
import WellKnown

/// A service that leaves everything to its options, as its users see it.
@Suite("A service by its options", .serialized)
struct NotebookTests {
  @Test("Of one note written twice at two copies at once there is one, and everybody who asks again is told of it")
  func onceAtCopies() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let settings = ["RATE_LIMITS": "writing=60000/1000"]
      try await parley.with(Notebook.self, settings: settings) { _, first in
        try await parley.with(Notebook.self, settings: settings) { _, second in
          let clients = [NotebookService.Client(first), NotebookService.Client(second)]
          for round in 0..<5 {
            let request = CreateNoteRequest(idempotencyKey: "key-\(round)", text: "round \(round)")
            let ids = try await withThrowingTaskGroup(of: String?.self) { tasks in
              for number in 0..<8 {
                tasks.addTask {
                  do { return try await clients[number % 2].createNote(request, options: ana.options).note?.id } catch let error
                    as RPCError where error.reason == "IDEMPOTENCY_KEY_IN_USE"
                  {
                    return nil
                  }
                }
              }
              return try await tasks.reduce(into: []) { $0.append($1) }.compactMap(\.self)
            }
            #expect(Set(ids).count == 1, "round \(round)")
            #expect(try await clients[0].createNote(request, options: ana.options).note?.id == ids.first)
          }
          #expect(try await clients[1].listNotes(options: ana.options).notes.count == 5)
        }
      }
    }
  }

  @Test("AUTH-M6: a limit is shared by all copies of a service, and an operator sets it by its name")
  func sharedLimit() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let settings = ["RATE_LIMITS": "writing=60/3"]
      try await parley.with(Notebook.self, settings: settings) { _, first in
        try await parley.with(Notebook.self, settings: settings) { _, second in
          let clients = [NotebookService.Client(first), NotebookService.Client(second)]
          for number in 0..<3 {
            _ = try await clients[number % 2].createNote(.init(idempotencyKey: "\(number)", text: "x"), options: ana.options)
          }
          for client in clients {
            let refusal = await #expect(throws: RPCError.self) {
              try await client.createNote(.init(idempotencyKey: "3", text: "x"), options: ana.options)
            }
            #expect(refusal?.reason == "RATE_LIMITED_USER" && refusal?.retryAfter == .seconds(1))
          }
          parley.clock.advance(by: .seconds(1))
          _ = try await clients[1].createNote(.init(idempotencyKey: "3", text: "x"), options: ana.options)
        }
      }
    }
  }

  @Test("The auth service's limit on changes of an account is one bucket for all of its methods")
  func accountLimit() async throws {
    try await TestParley.with(settings: ["RATE_LIMITS": "account=60/3"]) { parley in
      let ana = try await parley.signIn("ana")
      let client = ParleyAPI.AuthService.Client(parley.channel)
      for name in ["Ana", "Anna"] {
        let request = UpdateProfileRequest(profile: .init(name: name), updateMask: .init(paths: ["name"]))
        _ = try await client.updateProfile(request, options: ana.options)
      }
      _ = try await client.revokeSessions(options: ana.options)
      let refusal = await #expect(throws: RPCError.self) {
        try await client.revokeSession(.init(sessionID: ana.sessionID.description), options: ana.options)
      }
      #expect(refusal?.code == .resourceExhausted && refusal?.reason == "RATE_LIMITED_USER")
      #expect(refusal?.metadata["ratelimit-limit"] == "3")
      // What only reads is not counted.
      #expect(try await client.getProfile(options: ana.options).profile?.name == "Anna")
    }
  }
}

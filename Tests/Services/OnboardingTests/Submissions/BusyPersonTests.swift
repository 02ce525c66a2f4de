import AuthDomain
import EventLoop
import JSON
import MessagesCore
import OnboardingStore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import Synchronization
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("A person who is busy", .serialized)
struct BusyPersonTests {
  @Test("Many calls of a person whose lock is taken hold up nobody else, and are told to come again")
  func alone() async throws {
    try await OnboardingWorld.with(["DATABASE_POOL": "4"]) { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.signIn("ben"))
      let user = try ana.databaseID()
      @Sendable func save(_ step: Int32) async throws -> RPCError? {
        do {
          _ = try await world.client.saveAnswer(
            .init(step: step, answer: .written("of ana")), options: OnboardingWorld.options(ana))
          return nil
        } catch { return error }
      }
      try await world.parley.withDatabase { database in
        try await database.transaction { transaction in
          try await SubmissionStore(database).lock(user, in: transaction)
          let calls = (Int32(1)...20).map { step in Task { try await save(step) } }
          try await eventually { try await world.waiting(for: "advisory") == 1 }
          for step in Int32(1)...8 {
            let saved = try await world.client.saveAnswer(
              .init(step: step, answer: .written("of ben")), options: OnboardingWorld.options(ben))
            #expect(saved.answered == step)
            #expect(try await world.waiting(for: "advisory") <= 1)
          }
          for call in calls {
            let error = try #require(try await call.value)
            let saysWhen = error.details.contains { if case .retryInfo = $0 { true } else { false } }
            #expect(error.code == .aborted && error.reason == "BUSY" && saysWhen, "\(error)")
          }
        }
      }
      #expect(try await save(3) == nil)
    }
  }

  @Test("A submission is watched by at most sixteen at once, and by others when they have gone")
  func watchers() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.control(.post, "hold", ["path": "/openai/v1/audio/transcriptions", "count": 1])
      let state = try OnboardingWorld.record(voices: 1)
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: options)
      try await world.sandbox.awaitHeld(1)
      let watching = Watching()
      let watchers = (1...16).map { _ in
        Task {
          try await world.client.watchSubmission(.init(), options: options) { responses in
            var isFirst = true
            for try await _ in responses {
              if isFirst { watching.add() }
              isFirst = false
            }
          }
        }
      }
      try await eventually { watching.count == 16 }
      let refusal = await #expect(throws: RPCError.self) {
        try await world.client.watchSubmission(.init(), options: options) { responses in for try await _ in responses {} }
      }
      #expect(refusal?.code == .resourceExhausted && refusal?.reason == "TOO_MANY_WATCHERS", "\(refusal as Any)")
      watchers[0].cancel()
      _ = await watchers[0].result
      try await eventually {
        do {
          return try await world.client.watchSubmission(.init(), options: options) { responses in
            for try await _ in responses { return true }
            return false
          }
        } catch let error as RPCError where error.reason == "TOO_MANY_WATCHERS" { return false }
      }
      try await world.sandbox.control(.delete, "hold")
      for watcher in watchers.dropFirst() { try await watcher.value }
    }
  }
}

/// How many streams have told something.
private final class Watching: Sendable {
  private let told = Mutex(0)

  var count: Int { told.withLock { $0 } }

  func add() { told.withLock { $0 += 1 } }
}

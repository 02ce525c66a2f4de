import AuthDomain
import EventLoop
import JSON
import MessagesCore
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

@Suite("Those who wait for a submission", .serialized)
struct WatchTests {
  private static let transcribing = "/openai/v1/audio/transcriptions"

  /// What each of some watchers was told.
  private final class Told: Sendable {
    private let stages: Mutex<[[SubmissionStage]]>

    init(_ count: Int) { stages = Mutex(Array(repeating: [], count: count)) }

    var all: [[SubmissionStage]] { stages.withLock { $0 } }

    func add(_ stage: SubmissionStage?, to watcher: Int) {
      if let stage { stages.withLock { $0[watcher].append(stage) } }
    }
  }

  private static func watch(_ world: OnboardingWorld, _ user: TestUser, _ told: Told, as watcher: Int) async throws {
    let options = CallOptions(
      metadata: ["authorization": "Bearer \(user.accessToken)"], deadline: .after(.seconds(120).withPatience))
    try await world.client.watchSubmission(.init(), options: options) { responses in
      for try await response in responses { told.add(response.submission?.stage, to: watcher) }
    }
  }

  @Test(
    "O-40: while a provider is waited for, a push and sixteen who watch ask for nothing by themselves for ten seconds, and none misses the end (OF-01)"
  )
  func quiet() async throws {
    let settings = ["ADMIN_LISTEN": "127.0.0.1:0", "JOBS_POLL": "1s", "TENDING_INTERVAL": "1h"]
    try await OnboardingWorld.with(settings) { world in
      let ana = try await world.signIn("ana")
      let time = Duration.seconds(10)
      let idle = try await world.statements(in: time)
      try await world.sandbox.control(.post, "hold", ["path": .string(Self.transcribing), "count": 1])
      let state = try OnboardingWorld.record(voices: 1)
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: OnboardingWorld.options(ana))
      try await world.sandbox.awaitHeld(1)
      let (told, pushed) = (Told(16), Told(1))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for watcher in 0..<16 { group.addTask { try await Self.watch(world, ana, told, as: watcher) } }
        try await eventually { told.all.allSatisfy { $0.last == .transcribing } }
        // The app sends all once more, and waits as long as it may.
        group.addTask {
          let options = CallOptions(
            metadata: ["authorization": "Bearer \(ana.accessToken)"], deadline: .after(.seconds(120).withPatience))
          let answer = try await world.client.complete(.init(state: state, wait: .init(seconds: 50)), options: options)
          pushed.add(answer.submission?.stage, to: 0)
        }
        // What each asks when it has been told all, and once more when the hub looks for the first time.
        _ = try await world.statements(in: .seconds(3))
        let asked = try await world.statements(in: time)
        print("statements in ten seconds: \(asked) while a push and sixteen wait, \(idle) when nobody does")
        #expect(asked - idle <= 5 * (time / .seconds(1)), "\(asked) statements, \(idle) when nobody waits")
        #expect(pushed.all == [[]], "the push has waited all the time")
        try await world.sandbox.control(.delete, "hold")
        try await group.waitForAll()
      }
      #expect(told.all.allSatisfy { $0.first == .received && $0.last == .done }, "\(told.all)")
      #expect(Set(told.all).count == 1, "all are told the same")
      #expect(pushed.all == [[.done]])
    }
  }

  @Test("O-40: a change whose notification was lost is told all the same (OF-01)")
  func lostNotification() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.control(.post, "hold", ["path": .string(Self.transcribing), "count": 1])
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 1), wait: .init()), options: OnboardingWorld.options(ana))
      try await world.sandbox.awaitHeld(1)
      let told = Told(1)
      let watching = Task { try await Self.watch(world, ana, told, as: 0) }
      try await eventually { told.all[0].last == .transcribing }
      // Nobody is notified of what is written past the service.
      try await world.execute([
        """
        with ended as (
          update onboarding.submission set stage = 'failed', done_at = now() returning user_id, id)
        insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
        select user_id, id, 100, 'failed', 0, 0, 0, now() from ended
        """
      ])
      try await watching.value
      #expect(told.all[0].last == .failed)
      try await world.sandbox.control(.delete, "hold")
    }
  }

  @Test("A push whose deadline comes before the work ends is answered with what there is, never DEADLINE_EXCEEDED (BB-04)")
  func deadline() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.control(.post, "hold", ["path": .string(Self.transcribing), "count": 1])
      for wait in [GoogleProtobuf.Duration(seconds: 50), nil] {
        let options = CallOptions(
          metadata: ["authorization": "Bearer \(ana.accessToken)"], deadline: .after(.seconds(6).withPatience))
        let answer = try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: 1), wait: wait), options: options)
        #expect(answer.success && answer.submission?.stage == .transcribing, "\(answer)")
        #expect(answer.identityExtraction?.error == "in_progress")
      }
      try await world.sandbox.control(.delete, "hold")
    }
  }

  @Test("A stream of progress ends before its deadline with what there is, and the next one goes on behind it (BB-04)")
  func streamDeadline() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.control(.post, "hold", ["path": .string(Self.transcribing), "count": 1])
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 1), wait: .init()), options: OnboardingWorld.options(ana))
      try await world.sandbox.awaitHeld(1)
      @Sendable func watch(after: String, for time: Duration) async throws -> [Submission] {
        let options = CallOptions(metadata: ["authorization": "Bearer \(ana.accessToken)"], deadline: .after(time))
        return try await world.client.watchSubmission(.init(after: after), options: options) { responses in
          var told: [Submission] = []
          for try await response in responses { if let submission = response.submission { told.append(submission) } }
          return told
        }
      }
      // Both together are less than a transcription may take, also where everything takes sixteen times as long.
      let first = try await watch(after: "", for: .seconds(4).withPatience)
      #expect(first.first?.stage == .received && first.last?.stage == .transcribing, "\(first.map(\.stage))")
      let place = try #require(first.last?.position)
      #expect(try await watch(after: place, for: min(.seconds(4).withPatience, .seconds(20))).isEmpty, "nothing has changed")
      try await world.sandbox.control(.delete, "hold")
      let rest = try await watch(after: place, for: .seconds(60).withPatience)
      #expect(rest.last?.stage == .done)
      let offsets = (first + rest).compactMap { $0.position.split(separator: ":").last.flatMap { Int($0) } }
      #expect(offsets == Array(1...offsets.count), "every event once")
    }
  }

  @Test("Who has been told all is not woken when the hub looks for the first time: it alone asks, once a second (OF-01)")
  func firstLook() async throws {
    let settings = ["ADMIN_LISTEN": "127.0.0.1:0", "JOBS_CONCURRENCY": "0", "TENDING_INTERVAL": "1h"]
    try await OnboardingWorld.with(settings) { world in
      let ana = try await world.signIn("ana")
      _ = try await world.client.complete(
        .init(state: .init(responses: ["3": .written("Ana")]), wait: .init()), options: OnboardingWorld.options(ana))
      let time = Duration.seconds(3)
      let idle = try await world.statements(in: time)
      let told = Told(16)
      let before = try #require(try await world.metric("parley_database_queries_total"))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for watcher in 0..<16 { group.addTask { try await Self.watch(world, ana, told, as: watcher) } }
        try await eventually { told.all.allSatisfy { $0 == [.received] } }
        // The hub looks meanwhile, for the first time too.
        _ = try await world.statements(in: time)
        let asked = try #require(try await world.metric("parley_database_queries_total")) - before
        // Each: which submission, and what is new of it; and the hub's looks, however slow the machine is.
        #expect(asked - idle <= 16 * 2 + 16, "\(asked) statements, \(idle) when nobody watches")
        print("16 watchers begin, and the hub looks: \(asked) statements, \(idle) when nobody watches")
        group.cancelAll()
        while await group.nextResult() != nil {}
      }
    }
  }

  @Test("Who waits behind others of the same person is told to come again before the deadline of the call (BB-04)")
  func turn() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let user = try ana.databaseID()
      try await world.parley.withDatabase { database in
        try await database.transaction { transaction in
          _ = try await transaction.execute(
            "select pg_advisory_xact_lock(hashtextextended('onboarding ' || \(user)::uuid::text, 0))")
          let calls = (Int32(1)...12).map { step in
            Task {
              let options = CallOptions(
                metadata: ["authorization": "Bearer \(ana.accessToken)"], deadline: .after(.seconds(6).withPatience))
              return try await world.client.saveAnswer(.init(step: step, answer: .written("of ana")), options: options)
            }
          }
          for call in calls {
            let error = await #expect(throws: RPCError.self) { try await call.value }
            #expect(error?.code == .aborted && error?.reason == "BUSY", "\(error as Any)")
          }
        }
      }
    }
  }
}

import AuthDomain
import EventLoop
import MessagesCore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
import Values
import WellKnown

@Suite("How long submissions are kept", .serialized)
struct RetentionTests {
  private static func submit(_ world: OnboardingWorld, _ user: TestUser, _ text: String) async throws -> String {
    let answer = try await world.client.complete(
      .init(state: .init(responses: ["9": .written(text)])), options: OnboardingWorld.options(user))
    #expect(answer.submission?.stage == .done, "\(answer)")
    return answer.jobID
  }

  /// Waits until everything that is looked after was looked after once, from its beginning to its end.
  private static func lookedAfter(_ world: OnboardingWorld) async throws {
    for _ in 1...2 {
      try await world.execute(["insert into onboarding.anonymous_record_lookup values (sha256('1'), '{}', '2001-01-01')"])
      try await eventually {
        try await world.value("select count(*) from onboarding.anonymous_record_lookup", as: Int64.self) == 0
      }
    }
  }

  private static func id(_ text: String) throws -> UUID {
    let id = UUID(text)
    return try #require(id)
  }

  private static func rows(_ world: OnboardingWorld, _ table: Query) async throws -> Int64? {
    try await world.value("select count(*) from onboarding.\(part: table)", as: Int64.self)
  }

  @Test("A superseded submission goes with all that hangs on it when its time is over, and not before; the newest stays (OF-10)")
  func superseded() async throws {
    try await OnboardingWorld.with(["SUBMISSION_RETENTION": "24h", "TENDING_INTERVAL": "50ms"]) { world in
      var ana = try await world.signIn("ana")
      let first = try await Self.submit(world, ana, "evenings")
      world.parley.clock.advance(by: .seconds(3_600))
      ana = try await world.signIn("ana")
      let second = try await Self.submit(world, ana, "mornings")
      let firstID = try Self.id(first)
      try await world.execute([
        """
        insert into onboarding.submission_warning (user_id, submission_id, step, reason, message)
        select user_id, id, 1, 'a reason', 'a message' from onboarding.submission where id = \(firstID)
        """
      ])
      // From the moment when there was a newer one.
      world.parley.clock.advance(by: .seconds(86_400 - 60))
      try await Self.lookedAfter(world)
      #expect(try await Self.rows(world, "submission") == 2)
      world.parley.clock.advance(by: .seconds(61))
      try await eventually { try await Self.rows(world, "submission") == 1 }
      #expect(try await Self.rows(world, "submission_warning") == 0)
      let left: Int64? = try await world.value(
        "select count(*) from onboarding.submission_event where submission_id = \(firstID)")
      #expect(left == 0)
      ana = try await world.signIn("ana")
      let newest = try await world.client.getSubmission(options: OnboardingWorld.options(ana)).submission
      #expect(newest?.id == second && newest?.stage == .done)
      let gone = await #expect(throws: RPCError.self) {
        try await world.client.getSubmission(.init(submissionID: first), options: OnboardingWorld.options(ana))
      }
      #expect(gone?.reason == "SUBMISSION_NOT_FOUND")
      // However long nothing is submitted, what was submitted last is known: the same answers again are no others.
      world.parley.clock.advance(by: .seconds(3 * 86_400))
      try await Self.lookedAfter(world)
      #expect(try await Self.submit(world, try await world.signIn("ana"), "mornings") == second)
    }
  }

  @Test("Of a course that ended long ago its end is left, who watches it is told that, and one that goes on keeps all (OF-10)")
  func events() async throws {
    try await OnboardingWorld.with(["SUBMISSION_RETENTION": "24h", "TENDING_INTERVAL": "50ms"]) { world in
      let first = try await Self.submit(world, try await world.signIn("ana"), "evenings")
      let ben = try await world.signIn("ben")
      // Nobody works on the second: it goes on for as long as it takes.
      try await world.execute([
        "insert into onboarding.job_queue (name, paused_at, paused_by) values ('default', now(), 'a test')"
      ])
      let running = try await world.client.complete(
        .init(state: .init(responses: ["9": .written("nights")]), wait: .init()), options: OnboardingWorld.options(ben)
      ).jobID
      try await world.execute([
        """
        insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
        select user_id, id, turn, 'storing', 0, 1, 0, created_at from onboarding.submission, generate_series(2, 5) as turn
        where done_at is null
        """
      ])
      let (firstID, runningID) = (try Self.id(first), try Self.id(running))
      @Sendable func events(_ id: UUID) async throws -> Int64? {
        try await world.value("select count(*) from onboarding.submission_event where submission_id = \(id)")
      }
      let (all, underWay) = (try await events(firstID), try await events(runningID))
      #expect(all ?? 0 > 2 && underWay ?? 0 > 2)
      world.parley.clock.advance(by: .seconds(86_400 - 60))
      try await Self.lookedAfter(world)
      #expect(try await events(firstID) == all)
      world.parley.clock.advance(by: .seconds(61))
      try await eventually { try await events(firstID) == 2 }
      #expect(try await events(runningID) == underWay)
      let ana = try await world.signIn("ana")
      let told = try await world.client.watchSubmission(.init(), options: OnboardingWorld.options(ana)) { responses in
        var told: [SubmissionStage] = []
        for try await response in responses { if let stage = response.submission?.stage { told.append(stage) } }
        return told
      }
      #expect(told.last == .done)
      #expect(try await world.client.getSubmission(options: OnboardingWorld.options(ana)).submission?.percent == 100)
    }
  }
}

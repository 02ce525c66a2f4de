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
import Values
import WellKnown

@Suite("Work while what it stands on is away", .serialized)
struct OutageTests {
  @Test("A database that fails again and again takes no attempt from a submission, whose work ends when it is back (OF-06)")
  func database() async throws {
    // No lease ends while time passes.
    try await OnboardingWorld.with(["JOBS_LEASE": "600s"]) { world in
      let ana = try await world.signIn("ana")
      try await world.execute([
        "create sequence public.refusals", "grant usage on sequence public.refusals to parley_onboarding",
        """
        create function onboarding.be_away() returns trigger language plpgsql as
        $$ begin perform nextval('public.refusals'); raise exception 'too slow' using errcode = '57014'; end $$
        """,
        """
        create trigger be_away before insert on onboarding.identity_field for each row execute function onboarding.be_away()
        """,
      ])
      let state = OnboardingState(responses: ["3": .written("Ana"), "18": .written("eleven times")])
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: OnboardingWorld.options(ana))
      // Far more often than the job has attempts.
      try await eventually(atMost: .seconds(60)) {
        if try await world.value("select last_value from public.refusals", as: Int64.self) ?? 0 >= 8 { return true }
        try await world.pass(.seconds(31))
        return false
      }
      #expect(try await world.value("select count(*) from onboarding.dead_job", as: Int64.self) == 0)
      let attempts: Int32? = try await world.value(
        "select case when holder is null then attempt else attempt - 1 end from onboarding.job where kind = 'onboarding.process'")
      #expect(attempts == 0)
      try await world.execute(["drop trigger be_away on onboarding.identity_field"])
      try await eventually {
        if try await world.value("select stage from onboarding.submission", as: String.self) == "done" { return true }
        try await world.pass(.seconds(31))
        return false
      }
    }
  }

  @Test(
    "An object store that is away takes no attempt and holds up nothing: the answers are understood, and stored when it is back (OF-06)"
  )
  func store() async throws {
    // The store is another host than the providers: its circuit opens, theirs stay closed. No lease ends while time passes.
    try await SandboxProcess.run { sandbox in
      let endpoint = sandbox.url.replacing("localhost", with: "127.0.0.1")
      let settings = ["JOBS_LEASE": "600s", "BLOBS_S3_ENDPOINT": endpoint]
      let chat = "/openai/v1/chat/completions"
      let user = Mutex<UUID?>(nil)
      try await OnboardingWorld.restarting(
        settings, with: sandbox, inBucket: true,
        doing: [
          { world in
            let ana = try await world.signIn("ana")
            user.withLock { $0 = try? ana.databaseID() }
            try await world.sandbox.fail("/s3/objects", ["status": 503, "count": 1_000])
            try await world.sandbox.control(.post, "hold", ["path": .string(chat), "count": 1])
            _ = try await world.client.complete(
              .init(state: try OnboardingWorld.record(voices: 3), wait: .init()), options: OnboardingWorld.options(ana))
            var pauses = 0
            try await eventually(atMost: .seconds(60)) {
              if try await world.sandbox.control(.get, "hold")["waiting"]?.array?.count == 1 { return true }
              pauses += try await passToJob(world)
              return false
            }
            // Whoever waits for the answers to be understood waits for three short pauses, however many recordings there are.
            #expect(pauses <= 3, "\(pauses)")
            let attempt: Int32? = try await world.value("select attempt from onboarding.job where kind = 'onboarding.process'")
            #expect(attempt == 1)
            #expect(try await warnings(world) == ["audio_not_stored 2", "audio_not_stored 5", "audio_not_stored 7"])
            let kept: Int64? = try await world.value(
              "select count(*) from onboarding.recording where stored_at is null and stage_id is not null and state = 'done'")
            #expect(kept == 3)
            try await world.sandbox.control(.delete, "hold")
            try await eventually {
              try await world.value("select stage from onboarding.submission", as: String.self) == "done"
            }
            #expect(try await warnings(world).count == 3)
            #expect(try await world.value("select count(*) from onboarding.dead_job", as: Int64.self) == 0)
          },
          { world in
            // The next round finds it again.
            try await world.sandbox.control(.delete, "faults")
            try await eventually(atMost: .seconds(60)) {
              if try await world.value("select count(*) from onboarding.recording where stored_at is null", as: Int64.self) == 0 {
                return true
              }
              _ = try await passToJob(world)
              return false
            }
            #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
            let owner = try #require(user.withLock { $0 })
            let objects = try await world.sandbox.control(.get, "s3/objects")
            #expect("\(objects)".split(separator: owner.description).count == 4, "three of them: \(objects)")
            try await eventually { try await warnings(world).isEmpty }
          },
        ])
    }
  }

  /// Lets time pass until the job of a submission is due that waits for it; answers how often: 0 where none does.
  private func passToJob(_ world: OnboardingWorld) async throws -> Int {
    let due: Instant? = try await world.value(
      "select due_at from onboarding.job where kind = 'onboarding.process' and holder is null")
    guard let due else { return 0 }
    let pause = due.duration(since: Instant(microseconds: Int64(world.parley.clock.now / .microseconds(1))))
    guard pause > .zero else { return 0 }
    world.parley.clock.advance(by: pause)
    return 1
  }

  /// What did not go well with submissions, by step.
  private func warnings(_ world: OnboardingWorld) async throws -> [String] {
    let text: String? = try await world.value(
      "select string_agg(reason || ' ' || step, ',' order by reason, step) from onboarding.submission_warning")
    return (text ?? "").split(separator: ",").map(String.init)
  }

  @Test("A submission whose job is gone has another one at once, not after an hour (OF-06)")
  func lostJob() async throws {
    try await OnboardingWorld.with(["TENDING_INTERVAL": "50ms", "JOBS_LEASE": "600s"]) { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.signIn("ben"))
      // Nothing is claimed until the job is gone.
      try await world.execute([
        "insert into onboarding.job_queue (name, paused_at, paused_by) values ('default', now(), 'a test')"
      ])
      for user in [ana, ben] {
        _ = try await world.client.complete(
          .init(state: .init(responses: ["3": .written("Ana")]), wait: .init()), options: OnboardingWorld.options(user))
      }
      let before: Set<String> = try await jobs(world)
      #expect(before.count == 2)
      let id = try ana.databaseID()
      try await world.execute(["delete from onboarding.job where user_id = \(id)"])
      try await eventually { try await jobs(world).count == 2 }
      #expect(try await jobs(world).intersection(before).count == 1, "whose job is there keeps it")
      #expect(try await world.value("select sum(renewals)::int from onboarding.submission", as: Int32.self) == 1)
      try await world.execute(["delete from onboarding.job_queue"])
      try await eventually {
        try await world.value("select count(*) from onboarding.submission where stage = 'done'", as: Int64.self) == 2
      }
    }
  }

  private func jobs(_ world: OnboardingWorld) async throws -> Set<String> {
    let ids: String? = try await world.value(
      "select string_agg(id::text, ' ') from onboarding.job where kind = 'onboarding.process'")
    return Set((ids ?? "").split(separator: " ").map(String.init))
  }
}

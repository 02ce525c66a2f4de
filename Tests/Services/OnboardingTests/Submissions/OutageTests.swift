import AuthDomain
import EventLoop
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
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

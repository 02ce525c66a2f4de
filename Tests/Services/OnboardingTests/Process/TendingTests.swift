import AuthDomain
import EventLoop
import JOSE
import JSON
import MessagesCore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("What onboarding looks after", .serialized)
struct TendingTests {
  private static let settings = ["TENDING_INTERVAL": "50ms", "ADMIN_LISTEN": "127.0.0.1:0"]

  @Test("A part that fails holds up no other, and is counted")
  func apart() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      try await world.refuse("delete", on: "upload")
      try await world.execute([
        """
        insert into onboarding.upload (user_id, upload_id, digest, size, media_type, received, stage_id, touched_at)
        values (gen_random_uuid(), 'an-old-upload-of-somebody', sha256('1'), 1, 'audio/m4a', 0, gen_random_uuid(), '2001-01-01')
        """, "insert into onboarding.anonymous_record_lookup values (sha256('1'), '{}', '2001-01-01')",
      ])
      try await eventually {
        try await world.value("select count(*) from onboarding.anonymous_record_lookup", as: Int64.self) == 0
      }
      let series = "parley_onboarding_tending_failures_total"
      try await eventually { try await world.metric("\(series){part=\"uploads\"}") ?? 0 > 0 }
      #expect(try await world.metric("\(series){part=\"anonymous\"}") == 0)
      try await world.allow(on: "upload")
      try await eventually { try await world.value("select count(*) from onboarding.upload", as: Int64.self) == 0 }
    }
  }

  @Test("Bytes go a few at a time, however many there are: of uploads, of recordings and of accounts")
  func batches() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await world.signIn("ana")
      let user = try ana.databaseID()
      try await world.execute([
        """
        create function public.count_pieces() returns trigger language plpgsql as
        'begin if (select count(*) from gone) > 64 then raise exception ''too many at once''; end if; return null; end'
        """,
        """
        create trigger count_pieces after delete on onboarding.staged_bytes referencing old table as gone
        for each statement execute function public.count_pieces()
        """,
        // Ten pieces each: twenty old uploads, as many recordings of 10 MiB that nobody refers to, and as many that are kept.
        """
        insert into onboarding.staged_bytes select \(user), md5(number::text)::uuid, start, '1'
        from generate_series(1, 60) as number, generate_series(0, 9) as start
        """,
        """
        insert into onboarding.upload (user_id, upload_id, digest, size, media_type, received, stage_id, touched_at)
        select \(user), 'planted-upload-' || number, sha256(number::text::bytea), 10, 'audio/m4a', 10, md5(number::text)::uuid,
          '2001-01-01'
        from generate_series(1, 20) as number
        """,
        """
        insert into onboarding.recording (
          user_id, digest, size, format, media_type, stage_id, state, created_at, updated_at, unreferred_since)
        select \(user), sha256(number::text::bytea), 10 << 20, 'm4a', 'audio/mp4', md5(number::text)::uuid, 'pending', now(), now(),
          case when number <= 40 then '2001-01-01'::timestamptz end
        from generate_series(21, 60) as number
        """,
      ])
      try await eventually {
        try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 200
      }
      #expect(try await world.value("select count(*) from onboarding.upload", as: Int64.self) == 0)
      let deleted = try await world.deleteAccount(of: ana)
      #expect(deleted.kinds.first { $0.kind == "recordings" }?.deleted == 20, "\(deleted)")
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
    }
  }
}

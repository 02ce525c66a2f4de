import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import OnboardingStore
import Outbound
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

@Suite("What is in flight as an account is deleted", .serialized)
struct DepartureTests {
  /// How many rows of somebody's there are in all tables that know people.
  private static func rows(_ world: OnboardingWorld, of user: Values.UUID) async throws -> [String] {
    try await world.parley.withDatabase { database in
      let tables: [String] = try await database.rows(
        """
        select table_name::text from information_schema.columns
        where table_schema = 'onboarding' and column_name = 'user_id' and data_type = 'uuid' order by 1
        """, as: String.self)
      var found: [String] = []
      for table in tables {
        let count: Int64? = try await database.value(
          """
          select (xpath('/row/c/text()', query_to_xml(
            format('select count(*) as c from onboarding.%I where user_id = %L', \(table)::text, \(user)::uuid), false, true, '')
          ))[1]::text::bigint
          """)
        if (count ?? 0) > 0 { found.append(table) }
      }
      return found
    }
  }

  @Test("What is being saved at that moment is deleted with the account, and what comes after is refused")
  func writers() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let user = try ana.databaseID()
      @Sendable func save(_ text: String) -> Task<String?, any Error> {
        Task {
          do {
            _ = try await untilNotBusy {
              try await world.client.saveAnswer(.init(step: 3, answer: .written(text)), options: OnboardingWorld.options(ana))
            }
            return nil
          } catch let error as RPCError { return error.reason }
        }
      }
      let (early, deletion, late) = try await world.parley.withDatabase { database in
        try await database.transaction { transaction in
          // Who is early has the person's lock, and waits for the table.
          try await transaction.execute("lock table onboarding.answer in share mode")
          let early = save("early")
          try await eventually { try await world.waiting(for: "relation") == 1 }
          let deletion = Task { try await world.deleteAccount(of: ana) }
          try await eventually { try await world.waiting(for: "advisory") == 1 }
          return (early, deletion, save("late"))
        }
      }
      #expect(try await early.value == nil)
      let kinds = try await deletion.value.kinds
      #expect(kinds.first { $0.kind == "answers" }?.deleted == 1, "\(kinds)")
      #expect(try await late.value == "ACCOUNT_DELETED")
      #expect(try await Self.rows(world, of: user) == ["departure"])
    }
  }

  @Test("Nothing is taken for somebody whose account is deleted")
  func refused() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(voices: 0)
      _ = try await world.client.complete(.init(state: state), options: options)
      try await world.deleteAccount(of: ana)
      let upload = PieceUpload(name: "upload-of-a-deleted-one", bytes: try SpokenFiles.m4a(7))
      let calls: [@Sendable () async throws -> Void] = [
        { _ = try await world.client.complete(.init(state: state), options: options) },
        { _ = try await world.client.saveAnswer(.init(step: 3, answer: .written("Ana")), options: options) },
        { _ = try await world.voices.giveVoiceConsent(.init(statement: "v1"), options: options) },
        { _ = try await world.voices.withdrawVoiceConsent(options: options) },
        { _ = try await world.voices.cloneVoice(.init(idempotencyKey: "late"), options: options) },
        { _ = try await world.identity.correctIdentity(.init(name: "identity_name", value: "Ana"), options: options) },
        { _ = try await upload.send(world, as: ana, upTo: 0) },
      ]
      for (index, call) in calls.enumerated() {
        let error = await #expect(throws: RPCError.self) { try await call() }
        #expect(error?.code == .unauthenticated && error?.reason == "ACCOUNT_DELETED", "\(index): \(error as Any)")
      }
      // Not even that somebody has called.
      let counted = try await world.value(
        "select count(*) from onboarding.rate_limit where key like '%' || \(ana.userID.description)", as: Int64.self)
      #expect(counted == 0)
    }
  }

  @Test("What comes late is deleted once more when nothing can come any more, and then nothing says that anybody was there")
  func late() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let user = try ana.databaseID()
      let folder = "\(world.folder)/\(ana.userID)"
      try await world.withAccountData { data in
        let work = Values.UUID.v7().description
        _ = try await data.delete(.init(userID: ana.userID.description, workID: work), options: OnboardingWorld.withoutSession())
        world.parley.clock.advance(by: .seconds(60))
        // Again, since the first answer was lost: the end moves with it.
        let again = try await data.delete(
          .init(userID: ana.userID.description, workID: work), options: OnboardingWorld.withoutSession())
        #expect(again.kinds.map(\.kind) == ["deletions"], "\(again)")
        // A transfer to the object store ends, and an upload begins that was let in before.
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let name = Hexadecimal.text(SHA256.digest([7]))
        try Data([7]).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        try await world.parley.withDatabase { database in
          _ = try await database.transaction { transaction in
            try await UploadStore(database).begin(
              "upload-that-came-late", digest: SHA256.digest([7]), size: 1, mediaType: "audio/m4a", of: user,
              at: .init(seconds: 0), in: transaction)
          }
        }
        world.parley.clock.advance(by: .seconds(1_740))
        try await eventually {
          try await world.value(
            """
            select count(*) from onboarding.job
            where kind = 'onboarding.delete-rest' and run_lease = 0 and due_at = (select until from onboarding.departure)
            """,
            as: Int64.self) == 1
        }
        #expect(FileManager.default.fileExists(atPath: "\(folder)/\(name)"))
        world.parley.clock.advance(by: .seconds(60))
        try await eventually { try await Self.rows(world, of: user).isEmpty }
        let left = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        #expect(left.isEmpty, "\(left)")
        let kept = try await data.report(.init(userID: ana.userID.description), options: OnboardingWorld.withoutSession())
        #expect(kept.kinds.isEmpty)
        #expect(try await world.value("select count(*) from onboarding.job", as: Int64.self) == 0)
      }
    }
  }

  @Test("Who watches a submission is told that it is gone")
  func watching() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.control(.post, "hold", ["path": "/openai/v1/audio/transcriptions", "count": 1])
      _ = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 1), wait: .init()), options: options)
      try await world.sandbox.awaitHeld(1)
      let seen = Signal()
      async let end = Result.of {
        try await world.client.watchSubmission(.init(), options: options) { responses in
          for try await _ in responses { seen.fire() }
        }
      }
      try await seen.wait(atMost: .seconds(30))
      try await world.deleteAccount(of: ana)
      guard case .failure(let error as RPCError) = await end else {
        Issue.record("the stream ended as if the work had")
        return
      }
      #expect(error.code == .notFound && error.reason == "SUBMISSION_NOT_FOUND", "\(error)")
      try await world.sandbox.control(.delete, "hold")
    }
  }
}

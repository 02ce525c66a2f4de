import AuthDomain
import EventLoop
import JOSE
import JSON
import Logging
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing

@Suite("Calls that are given up", .serialized)
struct CancelledCallTests {
  /// Makes a call, gives it up once a statement of it waits for what `lock` holds, and lets that statement go on.
  private static func giveUp(
    _ database: BrokerDatabase, while lock: String, _ call: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await withLoops(1) { group in
      let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      try await PostgreSQL.Session.with(database.superuser, group: group, log: log) { session in
        try await session.script("begin; \(lock)")
        let calling = Task { try await call() }
        try await eventually(atMost: .seconds(30)) {
          try await database.value("select count(*) from pg_locks where not granted", as: Int64.self) ?? 0 > 0
        }
        calling.cancel()
        _ = await calling.result
        // The service has heard of it by now, or hears of it while the statement goes on.
        try await session.script("commit")
      }
    }
  }

  @Test("A denial is on record though its caller gave up before it was (BB-05)")
  func denial() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: ["ALLOWED_HD": "example.org"]) { broker in
        // What subjects are hashed with has not been read yet.
        try await Self.giveUp(database, while: "lock table auth.subject_salt in access exclusive mode") {
          _ = try await broker.exchange(FakeGoogle.token("eve", changes: [("hd", "evil.org")]))
        }
        try await eventually(atMost: .seconds(30)) {
          let reasons: [String] = try await database.values("select reason from auth.token_issuance")
          return reasons == ["WRONG_DOMAIN"]
        }
        #expect(broker.log.containing("missing from the audit").isEmpty)
      }
    }
  }

  @Test("A refused sign-in is in the account's activity though its caller gave up before it was (BB-05)")
  func refusedSignIn() async throws {
    try await SignInTests.with { service, database in
      let nonce = try await service.nonce()
      let token = service.googleToken(nonce: nonce.providerNonce)
      _ = try await service.auth.signInWithGoogle(.init(idToken: token, nonce: nonce.nonce), options: service.from())
      try await Self.giveUp(database, while: "lock table auth.activity in access exclusive mode") {
        _ = try await service.auth.signInWithGoogle(.init(idToken: token, nonce: nonce.nonce), options: service.from())
      }
      try await eventually(atMost: .seconds(30)) {
        try await database.value("select count(*) from auth.activity where reason = 'ID_TOKEN_REPLAYED'", as: Int64.self) == 1
      }
    }
  }

  @Test("A session whose token was used twice ends though whoever used it gave up at once (BB-05)")
  func reusedToken() async throws {
    try await SignInTests.with { service, database in
      let first = try await service.signIn().tokens?.refreshToken ?? ""
      let second = try await service.refresh(first)
      _ = try await service.refresh(second.refreshToken)
      service.clock.advance(by: .seconds(60))
      try await Self.giveUp(database, while: "select from auth.session for update") { _ = try await service.refresh(first) }
      try await eventually(atMost: .seconds(30)) {
        try await database.value("select end_cause from auth.session", as: String?.self) == "refresh_reused"
      }
    }
  }

  @Test("An export that was handed out in part is in the account's activity, though nobody waited for its end (BB-05)")
  func brokenDownload() async throws {
    try await AccountDataWorld.running { service, world in
      let ana = try await service.signIn()
      let (user, access) = (ana.profile?.userID ?? "", ana.tokens?.accessToken ?? "")
      // More than is on its way at once.
      try world.holders[0].add(["b.bin": SecureRandom.bytes(8 << 20)], of: user)
      let export = try await service.export(access)
      let client = AccountService.Client(service.channel)
      try await client.downloadExport(.init(workID: export.id), options: service.from("192.0.2.1", access)) { responses in
        var responses = responses
        _ = try await responses.next()
      }
      try await eventually(atMost: .seconds(30)) {
        let activity = try await service.auth.listActivity(options: service.from("192.0.2.1", access))
        return activity.entries.contains { $0.action == "export_downloaded" }
      }
      let work = try await client.getAccountWork(.init(workID: export.id), options: service.from("192.0.2.1", access)).work
      #expect(work?.expiresAt == export.expiresAt, "what was not handed out to its end is kept as long as before")
    }
  }
}

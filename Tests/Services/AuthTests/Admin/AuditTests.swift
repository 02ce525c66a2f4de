import AuthDomain
import AuthStore
import EventLoop
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing
import Values
import WellKnown

@testable import AuthAPI

extension UserAdminTests {
  @Test("AUTH-M8: activity, cloud tokens and kill switches are one list, the latest first, by each filter and page by page")
  func audit() async throws {
    try await SignInTests.with(BrokerTests.capabilities) { service, _ in
      let start = FakeGoogle.now
      func tick() { service.clock.advance(by: .seconds(10)) }
      let ana = try #require(try await service.signIn("ana").profile?.userID)  // 0
      tick()
      let bo = try await service.signIn("bo")  // 10
      tick()
      _ = try await service.exchange(service.idToken("ana"), capability: "speech")  // 20
      tick()
      _ = await ending { () async throws(RPCError) in try await service.exchange(service.idToken("ana"), capability: "money") }
      tick()
      _ = try await service.exchange(service.idToken("bo"))  // 40
      tick()
      for stopped in [true, false] {  // 50, 60
        _ = try await service.admin.setKillSwitch(
          .init(capability: "speech", stopped: stopped, reason: "leaked"), options: Self.patience)
        tick()
      }
      _ = try await service.users.suspendUser(.init(userID: ana, reason: "a word"), options: Self.patience)  // 70
      tick()
      _ = await ending { () async throws(RPCError) in try await service.signIn("ana") }  // 80

      func list(_ request: ListAuditRequest) async throws -> [ParleyAPI.AuditEntry] {
        var (request, found) = (request, [ParleyAPI.AuditEntry]())
        repeat {
          let page = try await service.users.listAudit(request, options: Self.patience)
          #expect(request.pageSize == 0 || page.entries.count <= Int(request.pageSize))
          found += page.entries
          request.pageToken = page.nextPageToken
        } while !request.pageToken.isEmpty
        return found
      }
      func told(_ entries: [ParleyAPI.AuditEntry]) -> [String] {
        entries.map { "\(($0.at?.seconds ?? 0) - start) \($0.action) \($0.outcome)" }
      }
      let all = try await list(.init())
      let ends = Set(["70 account_suspended done", "70 session_ended done"])
      #expect(told(all).first == "80 signed_in refused" && Set(told(all)[1...2]) == ends)
      #expect(
        told(Array(all.dropFirst(3))) == [
          "60 capability_resumed done", "50 capability_stopped done", "40 token_exchange done", "30 token_exchange refused",
          "20 token_exchange done", "10 signed_in done", "0 signed_in done",
        ])
      #expect(all.map(\.id) == all.map(\.id).sorted(by: >))
      for size in [1, 3] as [Int32] { #expect(try await list(.init(pageSize: size)) == all) }
      let ofAna = try await list(.init(userID: ana, pageSize: 2))
      #expect(
        Set(told(ofAna))
          == ends.union([
            "80 signed_in refused", "30 token_exchange refused", "20 token_exchange done", "0 signed_in done",
          ]) && ofAna.count == 6)
      for (request, times) in [
        (.init(action: "signed_in"), [80, 10, 0]), (.init(action: "signed_in", outcome: "refused"), [80]),
        (.init(action: "token_exchange"), [40, 30, 20]), (.init(userID: ana, action: "token_exchange"), [30, 20]),
        (.init(userID: bo.profile?.userID ?? "", action: "token_exchange"), [40]),
        (.init(action: "capability_stopped"), [50]), (.init(action: "capability_resumed", outcome: "done"), [60]),
        (.init(action: "capability_stopped", outcome: "refused"), []), (.init(outcome: "refused"), [80, 30]),
        (.init(outcome: "failed"), []), (.init(reason: "ACCOUNT_SUSPENDED"), [80]), (.init(reason: "UNKNOWN_CAPABILITY"), [30]),
        (.init(since: .init(seconds: start + 40), until: .init(seconds: start + 60)), [50, 40]),
        (.init(since: .init(seconds: start + 80)), [80]), (.init(since: .init(seconds: start + 80, nanos: 1000)), []),
        (.init(until: .init(seconds: start)), []), (.init(until: .init(seconds: start, nanos: 1000)), [0]),
        (.init(until: .init(seconds: -10)), []), (.init(since: .init(seconds: 253_402_300_799)), []),
        (.init(userID: UserID(high: 1, low: 2).description), []),
      ] as [(ListAuditRequest, [Int64])] {
        let found = try await list(request)
        #expect(found.map { ($0.at?.seconds ?? 0) - start } == times, "\(request)")
      }
      let who = ClientCertificates.operatorName
      let ended = try #require(all.first { $0.action == "session_ended" })
      #expect(ended.kind == .activity && ended.actor == who && ended.note == "a word" && ended.userID == ana)
      #expect(ended.reason == "SESSION_REVOKED_BY_OPERATOR" && ended.sessionID != nil && ended.app == "default")
      let stopped = try #require(all.first { $0.action == "capability_stopped" })
      #expect(stopped.kind == .killSwitch && stopped.actor == who && stopped.capability == "speech" && stopped.note == "leaked")
      let issued = try #require(ofAna.last { $0.action == "token_exchange" })
      #expect(issued.kind == .issuance && issued.actor == "self" && issued.capability == "speech" && issued.userID.isEmpty)
      #expect(issued.subjectHash.count == 32 && !issued.requestID.isEmpty && issued.clientAddress == "192.0.2.1")
      #expect(!all.contains { $0.actor == "self" && !$0.note.isEmpty })
    }
  }

  @Test(
    "AUTH-M8: whoever serves can add to a table of the audit, and neither change, remove nor empty what is there",
    arguments: [
      ("activity", "note", "user_id"), ("token_issuance", "reason", "subject_hash"), ("kill_switch_change", "reason", "id"),
      ("webhook_event", "reason", "event_id"),
    ])
  func appendOnly(table: String, column: String, key: String) async throws {
    try await LimitStoreTests.withStore { database, _, prepared in
      let statements = [
        "update auth.\(table) set \(column) = \(column)", "update auth.\(table) set \(key) = \(key)", "delete from auth.\(table)",
        "truncate auth.\(table)", "drop table auth.\(table)", "alter table auth.\(table) drop column \(column)",
        "create rule forget as on insert to auth.\(table) do instead nothing",
        "select 1 from auth.\(table) for update",
      ]
      for statement in statements {
        // As the serving role, by a client that takes any text.
        let refusal = try await Self.refusal(statement, prepared)
        #expect(refusal?.contains("permission denied") == true || refusal?.contains("must be owner") == true, "\(statement)")
      }
      // PostgreSQL only warns of this one; what counts is that nothing comes of it.
      _ = try await Self.refusal("grant update, delete on auth.\(table) to parley_auth", prepared)
      let rights: [String] = try await database.reads.rows(
        """
        select privilege_type::text from information_schema.role_table_grants
        where table_schema = 'auth' and table_name = \(table) and grantee = 'parley_auth' order by 1
        """)
      #expect(rights == ["INSERT", "SELECT"])
      let columns: [String] = try await database.reads.rows(
        """
        select distinct privilege_type::text from information_schema.column_privileges
        where table_schema = 'auth' and table_name = \(table) and grantee = 'parley_auth' order by 1
        """)
      #expect(columns == ["INSERT", "SELECT"])
    }
  }

  /// What a statement of the serving role is refused with; nil when it is not.
  private static func refusal(_ statement: String, _ prepared: BrokerDatabase) async throws -> String? {
    try await withLoops(1) { group in
      do {
        try await PostgreSQL.Session.with(
          try DatabaseConfiguration(prepared.servingURL), group: group, log: CapturedLog().logger
        ) { try await $0.script(statement) }
        return nil
      } catch { return "\(error)" }
    }
  }

  @Test("A sign-in and a suspension at once: whichever comes first, a suspended account has no session that lives")
  func race() async throws {
    try await SessionStores.with { stores in
      let suspensions = stores.databases.enumerated().map {
        SuspensionStore($1, sessions: stores.stores[$0], patience: .seconds(60))
      }
      let by = SessionStore.Client(address: "", requestID: "r", actor: "spiffe://parley/operator", note: "x")
      for round in 0..<12 {
        let (now, name) = (Instant(seconds: 1_800_000_000 + Int64(round)), "user \(round)")
        let first = try await stores.session(at: now, user: name)
        let owner = try #require(try await stores.stores[0].owner(of: first.session)).user
        await withTaskGroup(of: Void.self) { tasks in
          for number in 0..<4 {
            tasks.addTask(executorPreference: stores.group.loops[number % stores.group.loops.count]) {
              // Refused when the suspension was first.
              if number < 3 {
                _ = try? await stores.session(at: now, user: name)
              } else {
                _ = try? await suspensions[1].suspend(owner, at: now, by: by)
              }
            }
          }
        }
        let isSuspended = try await AccountStore(stores.databases[0]).isSuspended(owner)
        let alive = try await stores.stores[2].list(of: owner, after: nil, limit: 10, at: now)
        #expect(isSuspended && alive.isEmpty, "round \(round)")
      }
    }
  }

  @Test("AUTH-B2: a session that has run out is noted and counted once, by one of three copies")
  func expired() async throws {
    try await SessionStores.with { stores in
      let start = Instant(seconds: 1_800_000_000)
      for number in 0..<30 { _ = try await stores.session(at: start, user: "user \(number)") }
      let late = try await stores.session(at: start.advanced(by: .microseconds(1)), user: "late")
      let end = start.advanced(by: RefreshRules().idleLifetime)
      let before = try await AccountSweep(stores.databases[0])
        .endSessions(expiredSince: start, until: end.advanced(by: .microseconds(-1)))
      #expect(before == 0)
      let counts = try await withThrowingTaskGroup(of: Int.self) { tasks in
        for database in stores.databases {
          tasks.addTask { try await AccountSweep(database).endSessions(expiredSince: start, until: end) }
        }
        return try await tasks.reduce(0, +)
      }
      #expect(counts == 30)
      #expect(try await AccountSweep(stores.databases[0]).endSessions(expiredSince: start, until: end) == 0)
      let causes: [String] = try await stores.prepared.values(
        "select distinct end_cause from auth.session where ended_at = expires_at")
      #expect(causes == ["expired"])
      #expect(try await stores.stores[0].ending(of: late.session, at: end) == nil)
    }
  }
}

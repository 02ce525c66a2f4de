import AuthDomain
import AuthStore
import EventLoop
import JOSE
import Jobs
import MessagesCore
import ParleyProvider
import PostgreSQL
import RPC
import ServiceKit
import Synchronization
import Telemetry
import TestSupport
import Testing
import Values

import enum ParleyAPI.InternalErrorReason

@testable import AuthAPI

/// The stores and the worker as the serving role has them, without a queue: tests run the work themselves.
private struct WorkBench: Sendable {
  final class Queue: AccountWorkQueueing {
    let works = Mutex<[AccountWorkID]>([])

    func enqueue(
      _ work: AccountWorkID, _ kind: AccountWork.Kind, of user: UserID, at now: Instant, on transaction: Transaction
    ) async throws { works.withLock { $0.append(work) } }
  }

  static let client = SessionStore.Client(address: "192.0.2.1", requestID: "r")
  static let start = Instant(seconds: 1_800_000_000)

  let database: Database
  let prepared: BrokerDatabase
  let store: AccountWorkStore
  let data: AccountDataStore
  let queue: Queue
  let user: UserID
  let metrics = PrometheusRegistry()

  /// One person who is signed in.
  static func with(_ body: @escaping @Sendable (WorkBench) async throws -> Void) async throws {
    try await SessionStores.with { stores in
      let token = try await stores.session(at: start)
      let owner = try #require(try await stores.stores[0].owner(of: token.session))
      let queue = Queue()
      try await body(
        WorkBench(
          database: stores.databases[0], prepared: stores.prepared,
          store: AccountWorkStore(stores.databases[0], sessions: stores.stores[0], queue: queue, patience: .seconds(60)),
          data: AccountDataStore(
            stores.databases[0],
            jobs: JobQueue(schema: "auth", stores.databases[0]) { start },
            patience: .seconds(60), pageSize: 2), queue: queue, user: owner.user))
    }
  }

  func request(_ number: UInt64, _ steps: [StepName]) -> AccountWorkStore.Request {
    AccountWorkStore.Request(
      id: AccountWorkID(high: 7, low: number), user: user, app: "default", session: SessionID(high: 1, low: 1),
      key: "a key, number \(number)", steps: steps)
  }

  func export(_ number: UInt64, _ steps: [StepName]) async throws -> AccountWorkID {
    guard case .work(let id, _) = try await store.startExport(request(number, steps), at: Self.start, for: Self.client) else {
      throw TestFailure("no export")
    }
    return id
  }

  func deletion(_ number: UInt64, _ steps: [StepName]) async throws -> AccountWorkID {
    let outcome = try await store.startDeletion(
      request(number, steps), receipt: { RefreshTokens.digest(Array("\($0)".utf8)) }, at: Self.start, for: Self.client)
    guard case .work(let id, _) = outcome else { throw TestFailure("no deletion") }
    return id
  }

  func worker(_ holders: [String: any AccountDataHolding], _ revokers: [any ProviderGrantRevoking] = []) throws -> AccountWorker {
    struct Hashes: SubjectHashing {
      var givenSalt: [UInt8]? { nil }
      func hash(_ subject: String) -> SubjectHash { SubjectHash(bytes: SHA256.digest(subject)) }
    }
    let apps = try AppCatalogue([App(name: "default")])
    return AccountWorker(
      store: store, own: OwnAccountData(store: data, apps: apps, subjects: Hashes(), now: { Self.start }), services: holders,
      revokers: revokers, plan: AccountWorkPlan(services: holders.keys.sorted(), providers: revokers.map(\.provider)),
      rules: AccountDataRules(), journal: AccountWorkJournal(CapturedLog().logger, metrics), now: { Self.start })
  }
}

/// A service in memory, which can fail.
private final class MemoryHolder: AccountDataHolding {
  struct State {
    var count: Int64
    var failures: Int
    var calls = 0
  }

  let state: Mutex<State>

  init(_ count: Int64, failures: Int = 0) { state = Mutex(State(count: count, failures: failures)) }

  func export(
    of user: UUID, _ send: @escaping @Sendable (AccountDocumentPart) async throws -> Void
  ) async throws {
    try await send(AccountDocumentPart("things.jsonl", data: Array("one\n".utf8)))
    let fails = state.withLock { state in
      state.calls += 1
      state.failures -= 1
      return state.failures >= 0
    }
    if fails { throw TestFailure("broke off") }
    try await send(AccountDocumentPart("things.jsonl", data: Array("two\n".utf8)))
  }

  func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount] {
    let (fails, count) = state.withLock { state in
      state.calls += 1
      state.failures -= 1
      defer { if state.failures < 0 { state.count = 0 } }
      return (state.failures >= 0, state.count)
    }
    if fails { throw TestFailure("away") }
    return [AccountDataCount("things", deleted: count)]
  }

  func report(of user: UUID) async throws -> [AccountDataCount] {
    [AccountDataCount("things", held: state.withLock { $0.count })]
  }
}

/// A provider that takes grants back at the second attempt.
private final class Grants: ProviderGrantRevoking {
  let provider = "apple"
  let calls = Mutex(0)
  private let seen: @Sendable () async -> Void

  init(_ seen: @escaping @Sendable () async -> Void = {}) { self.seen = seen }

  func revokeGrants(of user: UserID) async throws -> Int {
    await seen()
    let number = calls.withLock { calls in
      calls += 1
      return calls
    }
    if number == 1 { throw TestFailure("the provider does not answer") }
    return 1
  }
}

@Suite("Exports and deletions in the database", .serialized)
struct AccountWorkStoreTests {
  private static let notes = StepName.service("notes")

  @Test("AUTH-M9: what a provider or service does not do is done by a later run, the own part comes last, and nothing twice")
  func runs() async throws {
    try await WorkBench.with { bench in
      let (holder, other) = (MemoryHolder(3, failures: 2), MemoryHolder(5))
      let grants = Grants()
      let worker = try bench.worker(["notes": holder, "calls": other], [grants])
      let id = try await bench.deletion(1, worker.plan.steps(of: .deletion))
      #expect(bench.queue.works.withLock { $0 } == [id])
      #expect(try await worker.run(id, of: bench.user) == .again("provider.apple: internal, service.notes: internal"))
      #expect(try await worker.run(id, of: bench.user) == .again("service.notes: internal"))
      let work = try #require(try await bench.store.work(id, of: bench.user))
      #expect(work.doneAt == nil && work.steps.last?.name == .own && work.steps.last?.attempts == 0)
      #expect(try await worker.run(id, of: bench.user) == .done)
      #expect(try await worker.run(id, of: bench.user) == .done)
      let done = try #require(try await bench.store.work(id, of: bench.user))
      #expect(done.doneAt == WorkBench.start && done.steps.allSatisfy { $0.doneAt != nil && $0.failure.isEmpty })
      #expect(done.steps.map(\.attempts) == [2, 1, 3, 1])
      #expect(done.steps[0].counts == [AccountWork.Count("grants", deleted: 1)])
      #expect(done.steps[2].counts == [AccountWork.Count("things", deleted: 3)])
      #expect(
        other.state.withLock { $0.calls } == 1 && holder.state.withLock { $0.calls } == 3 && grants.calls.withLock { $0 } == 2)
    }
  }

  @Test("A service that joins while a deletion runs takes part in it, and one that has left holds it up")
  func services() async throws {
    try await WorkBench.with { bench in
      let id = try await bench.deletion(1, [Self.notes, .own])
      let late = MemoryHolder(2)
      #expect(try await bench.worker(["late": late]).run(id, of: bench.user) == .again("service.notes: not_configured"))
      #expect(late.state.withLock { $0.count } == 0)
      #expect(try await bench.worker(["late": late, "notes": MemoryHolder(1)]).run(id, of: bench.user) == .done)
      let work = try #require(try await bench.store.work(id, of: bench.user))
      #expect(Set(work.steps.map(\.name)) == [Self.notes, .service("late"), .own])
    }
  }

  @Test("A run that was overtaken leaves nothing in an export, and cannot end it")
  func overtaken() async throws {
    try await WorkBench.with { bench in
      let worker = try bench.worker(["notes": MemoryHolder(0, failures: 1)])
      let id = try await bench.export(1, worker.plan.steps(of: .export))
      // As a process does that is killed in the middle of its part.
      let dead = try #require(try await bench.store.begin(Self.notes, of: id, of: bench.user))
      let piece = AccountWorkStore.Piece(
        document: "things.jsonl", contentType: "text/plain", offset: 0, data: Array("dead\n".utf8), sha256: nil)
      try await bench.store.keep(piece, 1, of: dead)
      #expect(try await worker.run(id, of: bench.user) == .again("service.notes: internal"))
      try await bench.store.keep(piece, 2, of: dead)
      #expect(try await !bench.store.finish(dead, [AccountWork.Count("rubbish")], at: WorkBench.start))
      try await bench.store.fail(dead, "rubbish")
      #expect(try await worker.run(id, of: bench.user) == .done)
      let pieces = try await bench.store.pieces(of: id, of: bench.user, from: 0, limit: 100)
      let notes = pieces.filter { $0.step == Self.notes }
      #expect(notes.flatMap { $0.piece.data } == Array("one\ntwo\n".utf8))
      #expect(notes.last?.piece.sha256 == SHA256.digest("one\ntwo\n"))
      let work = try #require(try await bench.store.work(id, of: bench.user))
      #expect(work.steps.last?.counts == [AccountWork.Count("things.jsonl", held: 8)] && work.steps.last?.attempts == 3)
      #expect(work.byteCount == pieces.map { Int64($0.piece.data.count) }.reduce(0, +))
    }
  }

  @Test("AUTH-M8: the serving role changes no row of the audit, and makes nobody forgotten who is not being deleted")
  func appendOnly() async throws {
    try await WorkBench.with { bench in
      let user = UUID(bench.user)
      for statement in [
        "update auth.activity set client_address = '' where user_id = \(user)",
        "delete from auth.activity where user_id = \(user)",
        "update auth.token_issuance set client_address = ''", "update auth.webhook_event set body = ''",
        "select auth.forget_activity(\(user))", "select auth.forget_webhook_events(\(user))",
        "select auth.forget_issuance(\(user), '{x}', null)", "select auth.must_be_leaving(\(user))",
        "update auth.account set deleting_at = now() where user_id = \(user)",
        "update auth.account set deleting_at = null where user_id = \(user)",
        """
        insert into auth.account (user_id, app, provider, name, email_is_verified, email_is_private, created_at, deleting_at)
        values (gen_random_uuid(), 'default', 'google', 'x', true, false, now(), now())
        """,
      ] as [Query] {
        let error = await #expect(throws: DatabaseError.self) { try await bench.database.execute(statement) }
        #expect(error?.sqlState == .insufficientPrivilege, "\(statement.text)")
      }
      _ = try await bench.deletion(1, [.own])
      let before = try await bench.database.value("select count(*) from auth.activity where user_id = \(user)", as: Int64.self)
      let touched = try await bench.database.value("select auth.forget_activity(\(user))", as: Int64.self)
      #expect(touched == before && (before ?? 0) >= 3)
      let error = await #expect(throws: DatabaseError.self) {
        try await bench.database.execute("update auth.account set deleting_at = null where user_id = \(user)")
      }
      #expect(error?.sqlState == .insufficientPrivilege, "what was begun is not undone")
    }
  }

  @Test("The serving role makes nobody forgotten of whom it only says so: the functions look for the deletion themselves (AF-07)")
  func feignedDeletion() async throws {
    try await WorkBench.with { bench in
      let user = UUID(bench.user)
      func refused(_ comment: Comment) async {
        for statement in [
          "select auth.forget_activity(\(user))", "select auth.forget_webhook_events(\(user))",
          "select auth.forget_issuance(\(user), '{web}', null)",
        ] as [Query] {
          let error = await #expect(throws: DatabaseError.self, comment) { try await bench.database.execute(statement) }
          #expect(error?.sqlState == .insufficientPrivilege, comment)
        }
      }
      await refused("nothing was begun")
      try await bench.database.execute("select auth.begin_deletion(\(user), now())")
      await refused("there is no work")
      let id = UUID.v7()
      try await bench.database.execute(
        """
        insert into auth.account_work (user_id, id, app, kind, idempotency_key, created_at)
        values (\(user), \(id), 'default', 'deletion', 'a key of sixteen', now())
        """)
      await refused("nothing in the activity says that it was asked for")
      try await ActivityStore(bench.database).add(
        Activity(
          user: bench.user, app: "default", at: WorkBench.start, action: .deletionRequested, address: "a", requestID: "r"))
      try await bench.database.execute(
        """
        insert into auth.account_work_step (user_id, work_id, name, place) values (\(user), \(id), 'service.notes', 0)
        """)
      await refused("another service has not done its part")
      try await bench.database.execute("update auth.account_work_step set done_at = now() where user_id = \(user)")
      #expect(try await bench.database.value("select auth.forget_activity(\(user))", as: Int64.self) ?? 0 > 0)
      let told: Int64? = try await bench.database.value(
        "select count(*) from auth.activity where user_id = \(user) and action = 'deletion_requested'")
      #expect(told == 1, "what was done leaves its trace")
    }
  }

  @Test(
    "Whose lines of the ledger are blanked follows from the account's identities, whatever else is asked for (AF-07)",
    arguments: [false, true])
  func ledgerOfOthers(givenSalt: Bool) async throws {
    try await WorkBench.with { bench in
      let user = UUID(bench.user)
      let salt = givenSalt ? Array("a salt that an operator has given, longer than one block of the hash is".utf8) : nil
      let stored: [UInt8]? = try await bench.database.value("select salt from auth.subject_salt")
      let key = try #require(salt ?? stored)
      let identity: String? = try await bench.database.value("select subject from auth.identity_lookup where user_id = \(user)")
      let own = SubjectHash(bytes: HMACSHA256.authenticationCode(for: Array(try #require(identity).utf8), key: key))
      let other = SubjectHash(bytes: HMACSHA256.authenticationCode(for: Array("somebody else".utf8), key: key))
      for subject in [own, other] {
        for audience in ["web", "ios"] {
          try await bench.database.execute(
            """
            insert into auth.token_issuance
              (subject_hash, id, issued_at, audience, capability, scope, client_address, request_id, outcome, reason)
            values (\(subject.description), \(UUID.v7()), now(), \(audience), 'default', '', '192.0.2.1', 'r', 'issued', '')
            """)
        }
      }
      let id = try await bench.deletion(1, [.own])
      _ = try await bench.data.erase(
        AccountDataStore.Person(bench.user, subjects: [own, other], audiences: ["web"], salt: salt), work: id, at: WorkBench.start
      )
      let left: [String] = try await bench.database.rows(
        "select subject_hash || ' ' || audience from auth.token_issuance where client_address <> '' order by 1")
      #expect(left == ["\(own) ios", "\(other) ios", "\(other) web"].sorted())
    }
  }

  @Test("A deletion that nobody has asked for, or whose turn has not come, is refused with a reason for programs (BB-06)")
  func refusedDeletion() async throws {
    try await WorkBench.with { bench in
      let own = try bench.worker([:]).own
      func refusal(_ work: AccountWorkID) async -> String {
        do {
          _ = try await own.delete(of: UUID(bench.user), work: UUID(work))
          return "OK"
        } catch let error as RPCError { return "\(error.code.name) \(error.reason ?? "none")" } catch { return "\(error)" }
      }
      #expect(await refusal(AccountWorkID(high: 9, low: 9)) == "FAILED_PRECONDITION DELETION_NOT_ASKED")
      let id = try await bench.deletion(1, [Self.notes, .own])
      #expect(await refusal(id) == "UNAVAILABLE DELETION_NOT_DUE")
    }
    for refusal in AccountDataRefusal.allCases {
      #expect(InternalErrorReason.descriptor.number(of: "ERROR_REASON_\(refusal.rawValue)") != nil, "\(refusal)")
    }
  }

  @Test("The own part is done for a deletion that was asked for, when it is the last one, and once")
  func ownPart() async throws {
    try await WorkBench.with { bench in
      let person = AccountDataStore.Person(bench.user)
      let unasked = try await bench.data.erase(person, work: AccountWorkID(high: 9, low: 9), at: WorkBench.start)
      #expect(unasked == .refused(.notAsked))
      let id = try await bench.deletion(1, [Self.notes, .own])
      #expect(try await bench.data.erase(person, work: id, at: WorkBench.start) == .refused(.notYet))
      let attempt = try #require(try await bench.store.begin(Self.notes, of: id, of: bench.user))
      #expect(try await bench.store.finish(attempt, [], at: WorkBench.start))
      // Many at once: one does it, all say the same.
      let outcomes = try await withThrowingTaskGroup(of: AccountDataStore.DeletionOutcome.self) { tasks in
        for _ in 0..<8 { tasks.addTask { try await bench.data.erase(person, work: id, at: WorkBench.start) } }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      let counts = outcomes.compactMap { if case .done(let counts, _) = $0 { counts } else { nil } }
      #expect(counts.count == 8 && Set(counts).count == 1 && counts[0].contains(AccountWork.Count("accounts", deleted: 1)))
      #expect(outcomes.count { if case .done(_, endedNow: true) = $0 { true } else { false } } == 1)
      #expect(try await bench.store.startExport(bench.request(2, [.own]), at: WorkBench.start, for: WorkBench.client).isRefused)
    }
  }

  @Test("Tables of any length are read whole, and what has not ended in time is counted and named")
  func bounds() async throws {
    try await WorkBench.with { bench in
      for number in 0..<5 {
        try await ActivityStore(bench.database).add(
          Activity(
            user: bench.user, app: "default", at: WorkBench.start, action: .profileChanged, address: "a", requestID: "\(number)"))
      }
      let rows = Mutex<[String: Int]>([:])
      try await bench.data.read(AccountDataStore.Person(bench.user)) { kind, found in
        rows.withLock { $0[kind, default: 0] += found.count }
      }
      #expect(rows.withLock { $0["activity"] } == 6)
      let id = try await bench.deletion(1, [.own])
      let (start, later) = (WorkBench.start, WorkBench.start.advanced(by: .seconds(1)))
      #expect(try await bench.store.overdue(since: start).isEmpty)
      #expect(try await bench.store.overdue(since: later) == [.deletion: 1])
      #expect(try await bench.store.running(since: later).map(\.work) == [id])
      let journal = AccountWorkJournal(CapturedLog().logger, bench.metrics)
      journal.overdue([.deletion: 1])
      let text = String(decoding: bench.metrics.exposition(), as: UTF8.self)
      #expect(text.contains("# HELP parley_account_work_overdue Exports and deletions that are not done"))
      #expect(text.contains("parley_account_work_overdue{kind=\"deletion\"} 1"))
      #expect(text.contains("parley_account_work_overdue{kind=\"export\"} 0"))
      // The report of a deletion outlives it by its time, and no longer.
      _ = try await bench.data.erase(AccountDataStore.Person(bench.user), work: id, at: start)
      #expect(try await bench.store.removeDeletions(doneBefore: start) == 0)
      #expect(try await bench.store.removeDeletions(doneBefore: later) == 1)
      let receipts = try await bench.database.value("select count(*) from auth.deletion_receipt_lookup", as: Int64.self)
      #expect(receipts == 0)
    }
  }
}

extension AccountWorkStore.Outcome {
  fileprivate var isRefused: Bool { if case .refused = self { true } else { false } }
}

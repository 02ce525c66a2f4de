import Idempotency
import JOSE
import MessagesWire
import PostgreSQL
import RPC
import Synchronization
import Telemetry
import TestAPI
import TestSupport
import Testing
import Values

@testable import ServiceKit

@Suite("Repeated requests by option", .serialized)
struct IdempotencyTests {
  /// Counts its runs, and ends each as it is told.
  private final class Runs: Sendable {
    let count = Atomic(0)
    let ending = Mutex<RPCError?>(nil)

    var handlers: PolicyFixture.Handlers {
      var handlers = PolicyFixture.Handlers()
      handlers.create = { [self] request, _ in
        let run = count.add(1, ordering: .relaxed).newValue
        if let error = ending.withLock({ $0 }) { throw error }
        return .init(note: .init(id: "note \(run)", text: request.text))
      }
      handlers.importing = { [self] request, _ in .init(count: Int32(count.add(1, ordering: .relaxed).newValue)) }
      return handlers
    }

    var runs: Int { count.load(ordering: .relaxed) }
  }

  /// Where a handler waits, and what it works with.
  private final class Stage: Sendable {
    let begun = Signal()
    let gate = Signal()
    let database = Mutex<Database?>(nil)
    private let count = Atomic(0)

    /// One more run has begun.
    func begin() -> Int { count.add(1, ordering: .relaxed).newValue }
    var runs: Int { count.load(ordering: .relaxed) }

    /// Does something that can be counted, and keeps the answer with it.
    func perform(_ answer: CreateNoteResponse, _ call: CallContext, then: (Transaction) async throws -> Void = { _ in })
      async throws
    {
      let database = try #require(database.withLock { $0 })
      try await database.transaction { transaction in
        try await transaction.execute("insert into door.rate_limit values (\(answer.note?.id), 0, to_timestamp(0), 0, 0)")
        try await call.keyedRequest?.keep(answer, in: transaction)
        try await then(transaction)
      }
    }
  }

  private static func create(
    _ fixture: PolicyFixture, _ key: String, _ text: String = "x", as user: UUID = PolicyFixture.ana
  ) async throws -> String {
    try await fixture.notes.createNote(.init(idempotencyKey: key, text: text), options: PolicyFixture.options(user)).note?.id
      ?? ""
  }

  /// What the caller is told: the note's name, or code and reason.
  private static func told(
    _ fixture: PolicyFixture, _ key: String, _ text: String = "x", as user: UUID = PolicyFixture.ana
  ) async -> String {
    do { return try await create(fixture, key, text, as: user) } catch let error as RPCError {
      return "\(error.code.name) \(error.reason ?? "")"
    } catch {
      return "\(error)"
    }
  }

  @Test("A repeated request is answered as before and runs nothing, over gRPC and Connect; another caller's key is another key")
  func repeated() async throws {
    let runs = Runs()
    try await PolicyFixture.with(runs.handlers) { fixture async throws in
      #expect(await Self.told(fixture, "k") == "note 1")
      for _ in 0..<3 {
        #expect(await Self.told(fixture, "k") == "note 1")
      }
      let options = PolicyFixture.options()
      let request = CreateNoteRequest(idempotencyKey: "k", text: "x")
      #expect(
        try await NotebookService.Client(fixture.connect).createNote(request, options: options).note?.id == "note 1")
      #expect(runs.runs == 1)
      #expect(await Self.told(fixture, "k", as: PolicyFixture.ben) == "note 2")
      #expect(await Self.told(fixture, "l") == "note 3")
      // Of another method, too.
      #expect(try await fixture.notes.importNotes(.init(idempotencyKey: "k"), options: options).count == 4)
      #expect(try await fixture.notes.importNotes(.init(idempotencyKey: "k"), options: options).count == 4)
      #expect(runs.runs == 4)
      #expect(fixture.registry.counter("parley_idempotency_replays_total").total == 5)
    }
  }

  @Test("A key that was used for another request is refused, and the first request's answer stays")
  func reused() async throws {
    let runs = Runs()
    try await PolicyFixture.with(runs.handlers) { fixture async throws in
      #expect(await Self.told(fixture, "k") == "note 1")
      #expect(await Self.told(fixture, "k", "y") == "ALREADY_EXISTS IDEMPOTENCY_KEY_REUSED")
      #expect(await Self.told(fixture, "k") == "note 1")
      #expect(runs.runs == 1)
    }
  }

  @Test("A key has 1 to 64 printable characters; where it is optional a request without one runs each time")
  func keys() async throws {
    let runs = Runs()
    try await PolicyFixture.with(runs.handlers) { fixture async throws in
      let whole = String(repeating: "k", count: 64)
      for key in ["", whole + "k", "a b", "ä", "a\n"] {
        #expect(await Self.told(fixture, key) == "INVALID_ARGUMENT INVALID_ARGUMENT", "\(key)")
      }
      #expect(runs.runs == 0)
      for key in [whole, "!", "~"] { #expect(await Self.told(fixture, key).hasPrefix("note "), "\(key)") }
      for expected in [4, 5] {
        let answer = try await fixture.notes.importNotes(.init(), options: PolicyFixture.options())
        #expect(answer.count == Int32(expected))
      }
    }
  }

  @Test(
    "A refusal that no repetition could change is kept with its reason; after any other failure the request runs anew",
    arguments: [
      (.invalidArgument, true), (.notFound, true), (.alreadyExists, true), (.permissionDenied, true), (.outOfRange, true),
      (.unavailable, false), (.aborted, false), (.resourceExhausted, false), (.internal, false), (.failedPrecondition, false),
      (.unauthenticated, false), (.deadlineExceeded, false), (.cancelled, false),
    ] as [(StatusCode, Bool)])
  func failures(code: StatusCode, isKept: Bool) async throws {
    let runs = Runs()
    try await PolicyFixture.with(runs.handlers) { fixture async throws in
      let first = RPCError(
        code, "größer", details: [.errorInfo(reason: "FIRST", domain: "test", metadata: ["a": "b"]), .retryInfo(.seconds(3))])
      runs.ending.withLock { $0 = first }
      #expect(await Self.told(fixture, "k") == "\(code.name) FIRST")
      runs.ending.withLock { $0 = nil }
      guard isKept else {
        #expect(await Self.told(fixture, "k") == "note 2")
        return
      }
      let again = await #expect(throws: RPCError.self) { try await Self.create(fixture, "k") }
      #expect(again?.code == code && again?.message == "größer" && again?.details == first.details)
      #expect(runs.runs == 1)
    }
  }

  @Test("Of requests of one key at once exactly one runs; the others are told to come again, and then get its answer")
  func concurrent() async throws {
    let stage = Stage()
    var handlers = PolicyFixture.Handlers()
    handlers.create = { request, _ in
      _ = stage.begin()
      stage.begun.fire()
      try await stage.gate.wait(atMost: .seconds(60))
      return .init(note: .init(id: "made", text: request.text))
    }
    try await PolicyFixture.with(handlers) { fixture async throws in
      try await withThrowingTaskGroup(of: String.self) { tasks in
        tasks.addTask { try await Self.create(fixture, "k") }
        try await stage.begun.wait(atMost: .seconds(60))
        for _ in 0..<5 {
          let refusal = await #expect(throws: RPCError.self) { try await Self.create(fixture, "k") }
          #expect(refusal?.code == .aborted && refusal?.reason == "IDEMPOTENCY_KEY_IN_USE")
          #expect(refusal?.retryAfter == .seconds(2))
        }
        #expect(await Self.told(fixture, "k", "y") == "ALREADY_EXISTS IDEMPOTENCY_KEY_REUSED")
        stage.gate.fire()
        #expect(try await tasks.next() == "made")
      }
      #expect(await Self.told(fixture, "k") == "made")
      #expect(stage.runs == 1)
    }
  }

  @Test(
    "A process that dies under its claim blocks the key until its lease is over; then the request runs, and what the dead one kept late is nothing"
  )
  func crash() async throws {
    let runs = Runs()
    try await PolicyFixture.with(runs.handlers, longestCall: .seconds(30)) { fixture async throws in
      // What a process leaves that died in its handler: a claim and no answer.
      let request = CreateNoteRequest(idempotencyKey: "k", text: "x")
      let now = Instant(seconds: PolicyFixture.start)
      let dead = RequestClaim(
        userID: PolicyFixture.ana, method: "parley.testing.v1.NotebookService/CreateNote", key: "k",
        hash: try Self.hash(request), run: UUID.v7(at: now), leaseUntil: now.advanced(by: .seconds(35)),
        expiresAt: now.advanced(by: .seconds(3600)))
      #expect(try await fixture.store.claim(dead, at: now) == .claimed)
      #expect(await Self.told(fixture, "k") == "ABORTED IDEMPOTENCY_KEY_IN_USE")
      fixture.advance(by: .milliseconds(34_999))
      #expect(await Self.told(fixture, "k") == "ABORTED IDEMPOTENCY_KEY_IN_USE")
      fixture.advance(by: .milliseconds(1))
      #expect(await Self.told(fixture, "k", "y") == "ALREADY_EXISTS IDEMPOTENCY_KEY_REUSED")
      #expect(await Self.told(fixture, "k") == "note 1")
      #expect(try await fixture.store.keep(.init(status: 0, bytes: []), for: dead) == false)
      #expect(await Self.told(fixture, "k") == "note 1")
    }
  }

  private static func hash(_ request: CreateNoteRequest) throws -> [UInt8] {
    SHA256.digest(try request.protobufBytes())
  }

  @Test("An answer kept in the handler's transaction is there with what it did; what fails afterwards changes neither")
  func transaction() async throws {
    let stage = Stage()
    var handlers = PolicyFixture.Handlers()
    handlers.create = { request, call in
      let answer = CreateNoteResponse(note: .init(id: "run \(stage.begin())", text: request.text))
      try await stage.perform(answer, call) { _ in
        if request.text == "roll back" { throw RPCError(.unavailable, "no") }
      }
      // As if the process had been cut off before it could answer.
      throw RPCError(.unavailable, "cut off")
    }
    try await PolicyFixture.with(handlers) { fixture async throws in
      stage.database.withLock { $0 = fixture.database }
      #expect(await Self.told(fixture, "k") == "UNAVAILABLE ")
      #expect(await Self.told(fixture, "k") == "run 1")
      #expect(await Self.told(fixture, "l", "roll back") == "UNAVAILABLE ")
      #expect(await Self.told(fixture, "l", "roll back") == "UNAVAILABLE ")
      let effects: [String] = try await fixture.database.rows("select key from door.rate_limit where key like 'run %' order by 1")
      #expect(effects == ["run 1"] && stage.runs == 3)
      stage.database.withLock { $0 = nil }
    }
  }

  @Test("A run that has lost its lease to another one cannot commit what it does")
  func fenced() async throws {
    let stage = Stage()
    var handlers = PolicyFixture.Handlers()
    handlers.create = { request, call in
      let run = stage.begin()
      let answer = CreateNoteResponse(note: .init(id: "run \(run)", text: request.text))
      if run == 1 {
        stage.begun.fire()
        try await stage.gate.wait(atMost: .seconds(60))
      }
      try await stage.perform(answer, call)
      return answer
    }
    try await PolicyFixture.with(handlers, longestCall: .seconds(30)) { fixture async throws in
      stage.database.withLock { $0 = fixture.database }
      try await withThrowingTaskGroup(of: String.self) { tasks in
        tasks.addTask { await Self.told(fixture, "k") }
        try await stage.begun.wait(atMost: .seconds(60))
        fixture.advance(by: .seconds(35))
        #expect(await Self.told(fixture, "k") == "run 2")
        stage.gate.fire()
        #expect(try await tasks.next() == "ABORTED IDEMPOTENCY_KEY_IN_USE")
      }
      #expect(await Self.told(fixture, "k") == "run 2")
      let effects: [String] = try await fixture.database.rows("select key from door.rate_limit where key like 'run %'")
      #expect(effects == ["run 2"])
      stage.database.withLock { $0 = nil }
    }
  }

  @Test("An answer too large to be kept is sent once; whoever repeats the request learns that it was done")
  func tooLarge() async throws {
    let runs = Runs()
    try await PolicyFixture.with(runs.handlers, maximumAnswerBytes: 100) { fixture async throws in
      // 2 around the text, 8 for its id, 2 around both: what is beside the text has 12 bytes.
      let fits = String(repeating: "x", count: 88)
      #expect(await Self.told(fixture, "k", fits) == "note 1")
      #expect(await Self.told(fixture, "k", fits) == "note 1")
      #expect(await Self.told(fixture, "l", fits + "x") == "note 2")
      #expect(await Self.told(fixture, "l", fits + "x") == "FAILED_PRECONDITION ANSWER_NOT_KEPT")
      #expect(runs.runs == 2)
    }
  }

  @Test(
    "Answers are kept for as long as the method says, to the second, and then removed in batches; a person's are removed on demand"
  )
  func expiry() async throws {
    let runs = Runs()
    try await PolicyFixture.with(runs.handlers) { fixture async throws in
      #expect(await Self.told(fixture, "k") == "note 1")
      fixture.advance(by: .seconds(48 * 3600 - 1))
      #expect(await Self.told(fixture, "k") == "note 1")
      #expect(try await fixture.store.removeExpired(at: Instant(seconds: PolicyFixture.start + 48 * 3600 - 1)) == 0)
      fixture.advance(by: .seconds(1))
      #expect(await Self.told(fixture, "k", "y") == "note 2")
      try await fixture.database.execute(
        """
        insert into door.idempotency
        select \(PolicyFixture.ben), 'm', 'k' || n, \([UInt8](repeating: 0, count: 32)), \(UUID.v7()), to_timestamp(0), null, null,
          to_timestamp(\(Double(PolicyFixture.start)))
        from generate_series(1, 1100) n
        """)
      #expect(try await fixture.store.removeExpired(at: Instant(seconds: PolicyFixture.start + 48 * 3600)) == 1100)
      #expect(try await fixture.store.removeAll(of: PolicyFixture.ben) == 0)
      #expect(try await fixture.store.removeAll(of: PolicyFixture.ana) == 1)
      #expect(await Self.told(fixture, "k") == "note 3")
    }
  }
}

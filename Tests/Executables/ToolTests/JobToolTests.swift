import EventLoop
import Foundation
import JSON
import Jobs
import Pages
import ParleyProvider
import PostgreSQL
import Synchronization
import Telemetry
import TestSupport
import Testing
import Values

@testable import parley

@Suite("Command line: jobs") struct JobToolTests {
  private let kind = JobKind<[UInt8]>("mail.send", retry: .never)

  /// Runs `body` with a queue and a server of its administration.
  private func serve(_ body: (PostgreSQLJobs, OperatorPlace) async throws -> Void) async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema work; \(JobsMigration.create(schema: "work", role: "nobody"))")
      try await test.script(JobsMigration.hold(schema: "work", role: "nobody"))
      try await test.script(PageKeyMigration.create(schema: "work", role: "nobody"))
      try await test.open { database in
        let queue = Jobs.JobQueue(schema: "work", database) { .now() }
        let settings = WorkerSettings(poll: .milliseconds(50), grace: .zero)
        let jobs = PostgreSQLJobs(
          queue, settings, on: test.group, log: test.log, metrics: JobMetrics(PrometheusRegistry()))
        try await OperatorPlace.serve(
          [JobAdmin.routes(queue, pages: PageKeyStore(schema: "work", database), log: test.log)], on: test.group
        ) { try await body(jobs, $0) }
      }
    }
  }

  private func parley(_ place: OperatorPlace, _ arguments: String...) async throws -> ToolProcess.Ending {
    try await ToolProcess.parley(["jobs"] + arguments, environment: place.environment)
  }

  /// Has a worker work until a job is dead.
  private static func work(_ handlers: JobHandlers, _ jobs: PostgreSQLJobs, untilDead id: Values.UUID) async throws {
    let working = Task { try await jobs.work(handlers) }
    let seen = await Result.of { try await eventually { try await jobs.queue.job(id)?.state == .dead } }
    working.cancel()
    _ = await working.result
    try seen.get()
  }

  /// What the worker of a test was given.
  private final class Carried: Sendable {
    let bytes = Mutex<[UInt8]>([])
  }

  /// What a job carries is corrected from a file, which is looked into before anything is asked.
  private func correct(_ id: Values.UUID, _ jobs: PostgreSQLJobs, _ target: OperatorPlace) async throws {
    let folder = try ScratchFolder()
    func write(_ name: String, _ bytes: [UInt8]) throws {
      try Data(bytes).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
    }
    try write("address.json", Array(#"{"to":"ana"}"#.utf8))
    try write("broken.json", Array(#"{"to":"#.utf8))
    try write("large", [UInt8](repeating: 1, count: (1 << 20) + 1))
    try write("raw", [0, 255])
    for (name, complaint) in [("broken.json", "is not JSON"), ("large", "more than 1048576 bytes"), ("none", "cannot read")] {
      let refused = try await parley(target, "retry", "--payload-file", "\(folder.path)/\(name)", "\(id)")
      #expect(refused.status == 64 && refused.errors.contains(complaint), "\(refused)")
    }
    #expect(try await parley(target, "show", "\(id)").output.contains("3 bytes"))
    #expect(try await parley(target, "retry", "--payload-file", folder.path + "/raw", "\(id)").status == 0)
    #expect(try await jobs.queue.job(id)?.payloadLength == 2)
    let corrected = try await parley(target, "retry", "--payload-file", folder.path + "/address.json", "\(id)")
    #expect(corrected.output == "runs as soon as a worker has room\n", "\(corrected)")
    let carried = Carried()
    var taking = JobHandlers()
    taking.handle(kind) { payload, _ in
      carried.bytes.withLock { $0 = payload }
      throw JobFailure.permanent("seen")
    }
    try await Self.work(taking, jobs, untilDead: id)
    #expect(carried.bytes.withLock { $0 } == Array(#"{"to":"ana"}"#.utf8))
    #expect(try await parley(target, "retry", "\(id)").status == 0)
  }

  @Test("JOB-M6: an operator lists, shows, edits, retries and purges jobs, and pauses and resumes queues, as text and as JSON")
  func story() async throws {
    try await serve { jobs, target in
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        try await run.step("render") { () -> Void in }
        try await run.report(1, of: 2, "rendered")
        throw JobFailure.permanent("no such\u{1b}[31m address")
      }
      let id = try await jobs.enqueue(kind.job([1, 2, 3], uniqueKey: "ana")).id
      try await Self.work(handlers, jobs, untilDead: id)
      let later = try await jobs.enqueue(kind.job([], notBefore: .now().advanced(by: .seconds(86_400)))).id

      let list = try await parley(target, "list")
      #expect(list.status == 0 && list.output.hasPrefix("ID") && list.output.contains("\(later)"), "\(list)")
      // What a handler said does not move the operator's cursor.
      #expect(list.output.contains("no such\\u{1b}[31m address") && list.output.contains("1/2 rendered"))
      let dead = try await parley(target, "list", "--state", "dead", "--json")
      let found = try JSONParser.parse(Array(dead.output.utf8))["jobs"]?.array ?? []
      #expect(found.count == 1 && found.first?["id"]?.string == "\(id)" && found.first?["reason"]?.string == "permanent")
      let one = try await parley(target, "list", "--limit", "1")
      #expect(one.status == 0 && one.errors.contains("there are more"), "\(one)")

      let shown = try await parley(target, "show", "\(id)")
      #expect(shown.status == 0)
      for part in ["mail.send", "unique key", "ana", "3 bytes", "render,", "permanent", "1 of 1"] {
        #expect(shown.output.contains(part), "\(part)")
      }
      #expect(try await parley(target, "show", "\(Values.UUID.v7())").status == 1)
      #expect(try await parley(target, "show", "nonsense").status == 1)

      #expect(try await parley(target, "retry", "\(id)").output == "runs as soon as a worker has room\n")
      #expect(try await jobs.queue.job(id)?.state == .ready)
      #expect(try await parley(target, "retry", "\(Values.UUID.v7())").status == 1)

      try await correct(id, jobs, target)

      // A kind whose taker does not exist yet.
      let held = try await jobs.enqueue(JobKind<[UInt8]>("fax.send").job([])).id
      let waiting = try await parley(target, "list", "--state", "held")
      #expect(waiting.output.contains("\(held)") && waiting.output.contains("held") && !waiting.output.contains("\(later)"))
      #expect(try await parley(target, "show", "\(held)").output.contains("no worker has ever handled this kind"))
      #expect(try await parley(target, "retry", "\(held)").output == "held: no worker has ever handled this kind\n")
      #expect(try await parley(target, "purge", "\(held)").output == "removed 1 job\n")

      #expect(try await parley(target, "pause").output == "paused\n")
      #expect(try await parley(target, "pause", "default").output == "was paused already\n")
      let queues = try await parley(target, "queues", "--json")
      let queue = try JSONParser.parse(Array(queues.output.utf8))["queues"]?.array?.first
      #expect(queue?["name"]?.string == "default" && queue?["paused"] == .bool(true))
      #expect(try await parley(target, "queues").output.contains("paused"))
      #expect(try await parley(target, "resume").output == "resumed\n")
      #expect(try await parley(target, "resume", "default").output == "was not paused\n")

      #expect(try await parley(target, "purge").status == 64)
      #expect(try await parley(target, "purge", "--all-dead", "\(id)").status == 64)
      #expect(try await parley(target, "purge", "--all-dead").output == "removed 0 jobs\n")
      #expect(try await parley(target, "purge", "\(id)", "\(later)", "--json").output == "{\"purged\":2}\n")
      #expect(try await jobs.queue.list(atMost: 10).isEmpty)
    }
  }
}

import AuthDomain
import EventLoop
import Glibc
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
import Values
import WellKnown

/// What calls ask of the database, by the driver's own counters: round trips, which are what a call waits for.
@Suite("What calls cost", .serialized)
struct CallCostTests {
  private struct Cost: Comparable, CustomStringConvertible {
    var trips = Double.infinity
    var statements = Double.infinity

    var description: String { "\(Int(trips)) round trips, \(Int(statements)) statements" }

    static func < (first: Cost, second: Cost) -> Bool { (first.trips, first.statements) < (second.trips, second.statements) }
  }

  /// Nobody works on jobs, so that calls alone are counted.
  private static let quiet = ["ADMIN_LISTEN": "127.0.0.1:0", "JOBS_CONCURRENCY": "0", "TENDING_INTERVAL": "3600s"]

  /// The least that a call cost: what the service does beside it now and then is in some of the tries.
  private static func cost(_ world: OnboardingWorld, tries: Int = 6, _ call: (Int) async throws -> Void) async throws -> Cost {
    func count(_ name: String) async throws -> Double { try #require(try await world.metric("parley_database_\(name)_total")) }
    // What a service does after it has started has an end, and a slow machine is still at it when the first calls are.
    var (last, still) = (-1.0, 0)
    try await eventually("the service asks its database nothing by itself") {
      let now = try await count("queries")
      (last, still) = (now, now == last ? still + 1 : 0)
      return still == 3
    }
    var least = Cost()
    for number in 0..<tries {
      let before = (trips: try await count("round_trips"), statements: try await count("queries"))
      try await call(number)
      let cost = Cost(
        trips: try await count("round_trips") - before.trips, statements: try await count("queries") - before.statements)
      least = min(least, cost)
    }
    return least
  }

  @Test("ListSteps asks the database nothing: it is a constant, and its limit is counted in the process (PF-10)")
  func steps() async throws {
    try await OnboardingWorld.with(Self.quiet) { world in
      // Fewer than half of the burst, of which the process needs nobody's word.
      let cost = try await Self.cost(world) { _ in _ = try await world.client.listSteps() }
      print("ListSteps: \(cost)")
      #expect(cost.trips == 0 && cost.statements == 0, "\(cost)")
    }
  }

  /// The CPU time of the child processes that have ended.
  private static func children() -> Duration {
    var used = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &used)
    func duration(_ time: timeval) -> Duration { .seconds(time.tv_sec) + .microseconds(time.tv_usec) }
    return duration(used.ru_utime) + duration(used.ru_stime)
  }

  @Test("GetProgress is one round trip, before and after a submission (PF-17)")
  func progress() async throws {
    try await OnboardingWorld.with(Self.quiet) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      _ = try await world.client.saveAnswer(.init(step: 3, answer: .written("Ana")), options: options)
      for isComplete in [false, true] {
        if isComplete {
          _ = try await world.client.complete(
            .init(state: try OnboardingWorld.record(voices: 1), wait: .init()), options: options)
        }
        let cost = try await Self.cost(world) { _ in _ = try await world.client.getProgress(options: options) }
        print("GetProgress: \(cost)")
        #expect(cost.trips == 1, "\(cost)")
      }
    }
  }

  @Test("An answer is taken in three round trips, and a recording in no more than five: the last of them commits (PF-11)")
  func answers() async throws {
    try await OnboardingWorld.with(Self.quiet) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let text = try await Self.cost(world) { number in
        _ = try await world.client.saveAnswer(.init(step: 3, answer: .written("Ana \(number)")), options: options)
      }
      print("SaveAnswer, text: \(text)")
      #expect(text.trips <= 3, "\(text)")
      let voice = try await Self.cost(world) { number in
        let answer = OnboardingAnswer.spoken(SpokenFiles.tone(bytes: 200_000 + 2 * number), as: "audio/wav")
        _ = try await world.client.saveAnswer(.init(step: 2, answer: answer), options: options)
      }
      print("SaveAnswer, voice of 200 KB: \(voice)")
      #expect(voice.trips <= 5, "\(voice)")
    }
  }

  // 75 of them take the answers, and 93 to 110 are the work behind it: more where what comes of the recordings comes one by one. It is only
  // ever lowered.
  @Test(
    "A submission of fifteen recordings, worked on and watched to its end, takes at most 195 statements and one decoder (PF-11, PF-12)"
  )
  func work() async throws {
    let settings = ["ADMIN_LISTEN": "127.0.0.1:0", "JOBS_POLL": "60s", "TENDING_INTERVAL": "3600s"]
    try await OnboardingWorld.with(settings) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(variant: 400)
      var taken = Cost()
      let before = Self.children()
      let cost = try await Self.cost(world, tries: 1) { _ in
        taken = try await Self.cost(world, tries: 1) { _ in
          _ = try await world.client.complete(.init(state: state, wait: .init()), options: options)
        }
        try await world.client.watchSubmission(options: options) { responses in for try await _ in responses {} }
        try await eventually("the work has ended") { try await world.submissionJobs() == 0 }
      }
      print("Complete and the pipeline behind it, watched: \(cost), of them by then \(taken)")
      #expect(cost.statements <= 195, "\(cost)")
      let children = Self.children() - before
      print("Child processes of the pipeline, fifteen recordings: \(children)")
      // One run of the decoder for all of them; fifteen take more than a second.
      #expect(children > .zero && children <= .milliseconds(700), "\(children)")
    }
  }
}

import ParleyAPI
import RPC
import ScriptedOnboarding
import TestSupport
import Testing

@testable import ClientCore

@Suite("Following the work on answers that were pushed")
struct PushFollowTests {
  private typealias End = ScriptedOnboarding.State.WatchEnd

  private func pushed(_ world: OnboardingWorld) async throws -> [String] {
    try await world.push().markCompleted(OnboardingWorld.record())
    return try await world.push().states().map(short)
  }

  /// States without repetition of what was shown before.
  private static func expected(_ positions: ClosedRange<Int>) -> [String] {
    ["idle", "checking", "uploading 0/0", "analyzing 1:1"] + positions.map { "analyzing 1:\($0)" } + ["complete"]
  }

  @Test(
    "O-38: a stream of progress that breaks goes on behind what was seen, without gap or repeat", arguments: ["gRPC", "Connect"])
  func broken(_ wire: String) async throws {
    try await OnboardingWorld.run(wire) { world in
      world.service.change {
        $0.watchEnds = [.broken(after: 2), .broken(after: 0), .quiet(after: 1), .quiet(after: 0), .broken(after: 3)]
        $0.standing = ScriptedOnboarding.event(7, .cloning, 80, 0, of: 1)
      }
      let states = try await pushed(world)
      #expect(states == Self.expected(1...7))
      #expect(world.service.state.watches == ["", "1:2", "1:2", "1:3", "1:3", "1:6"])
      #expect(!world.clock.slept.isEmpty)
    }
  }

  @Test("O-39: after a restart in the middle the work is followed from the place that was seen, with no answers on the device")
  func restart() async throws {
    try await OnboardingWorld.run { world in
      world.service.change { $0.watchEnds = Array(repeating: .broken(after: 0), count: 4) }
      world.service.change { $0.watchEnds.insert(.broken(after: 4), at: 0) }
      let last = try await pushed(world).last
      #expect(last == "failed network")
      #expect(try await world.store.load() == nil)
      #expect(try await world.store.delivery()?.position == "1:4")
      #expect(world.service.state.watches.count == 5)
      // What the service says now is shown at once; then what was missed.
      world.service.change { $0.refusals["GetSubmission"] = [RPCError(.unavailable, "down")] }
      let states = try await world.push().states().map(short)
      #expect(states == ["idle", "checking", "analyzing 1:1", "analyzing 1:5", "analyzing 1:6", "analyzing 1:7", "complete"])
      #expect(world.service.state.watches.last == "1:4" && world.service.state.completes.count == 1)
      #expect(try await world.store.delivery() == nil)
    }
  }

  @Test("O-39: work that ended while the app was closed is complete at once")
  func endedMeanwhile() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      _ = try await world.push().pushToBackend()
      #expect(try await world.push().states().map(short) == ["idle", "checking", "analyzing 1:8", "complete"])
      #expect(world.service.state.watches.isEmpty)
    }
  }

  @Test("O-12: an app that ended between the service's word and the clearing clears without sending again")
  func notClearedYet() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      let bytes = try #require(world.entries.load(OnboardingStore.completedKey))
      _ = try await world.push().pushToBackend()
      world.entries.save(bytes, as: OnboardingStore.completedKey)
      let restored = try #require(try await world.store.load())
      #expect(restored.isCompleted == true)
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(world.service.state.completes.count == 1)
      #expect(try await world.store.load() == nil)
    }
  }

  @Test("Work that the service gave up is a failure that keeps nobody from trying again")
  func givenUp() async throws {
    try await OnboardingWorld.run { world in
      world.service.change {
        $0.events = [ScriptedOnboarding.event(1, .received, 40), ScriptedOnboarding.event(2, .failed, 80)]
      }
      let last = try await pushed(world).last
      #expect(last == #"failed server(reason: "SUBMISSION_FAILED")"#)
      // An operator had it tried again.
      world.service.change { $0.events = ScriptedOnboarding.usualEvents }
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(world.service.state.completes.count == 1)
    }
  }

  @Test("A submission that the service does not know is forgotten: there is nothing to push then")
  func unknown() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      _ = try await world.push().pushToBackend()
      world.service.change { $0.taken = [:] }
      #expect(try await world.push().states().last.map(short) == #"failed server(reason: "SUBMISSION_NOT_FOUND")"#)
      #expect(try await world.push().states().last.map(short) == "failed noData")
    }
  }

  @Test("A place that the service does not know any more is followed by all from the beginning")
  func otherEpoch() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      _ = try await world.push().pushToBackend()
      var delivery = try #require(try await world.store.delivery())
      delivery.position = "0:7"
      try await world.store.save(delivery)
      world.service.change { $0.refusals["GetSubmission"] = [RPCError(.unavailable, "down")] }
      let states = try await world.push().states().map(short)
      #expect(states.last == "complete" && world.service.state.watches == ["0:7", ""])
    }
  }

  @Test("Silence is no failure as long as the service is there, and no stream is read for ever")
  func silence() async throws {
    try await OnboardingWorld.run { world in
      let goOn = Signal()
      world.service.change { state in
        state.holds[3] = {
          // The first stream is silent for longer than anybody listens.
          if world.service.state.watches.count == 1 { try await goOn.wait(atMost: .seconds(60)) }
        }
        var earlier = ScriptedOnboarding.usualEvents
        earlier.removeLast()
        state.standing = earlier.last
      }
      try await world.push().markCompleted(OnboardingWorld.record())
      let states = try await world.push { $0.watchTimeout = .milliseconds(500) }.states().map(short)
      goOn.fire()
      #expect(states.last == "complete" && world.service.state.watches.count >= 2)
      #expect(world.clock.slept.isEmpty)
    }
  }

  @Test("A stream that ends in silence shortly before its deadline is no failure: another one goes on behind its place (BB-04)")
  func silentEnd() async throws {
    try await OnboardingWorld.run { world in
      world.service.change { state in
        state.watchEnds = [.quiet(after: 3)]
        state.holds[3] = {
          // Longer than half of the time, and not as long as all of it.
          if world.service.state.watches.count == 1 { try? await Signal().wait(atMost: .milliseconds(1_200)) }
        }
        var earlier = ScriptedOnboarding.usualEvents
        earlier.removeLast()
        state.standing = earlier.last
      }
      try await world.push().markCompleted(OnboardingWorld.record())
      let states = try await world.push { $0.watchTimeout = .seconds(2).withPatience }.states().map(short)
      #expect(states.last == "complete" && world.service.state.watches.first == "")
      #expect(world.clock.slept.isEmpty, "\(world.clock.slept)")
    }
  }

  @Test("O-38: a service that does not tell the final answer leaves the first one with the end and the warnings in it")
  func noResult() async throws {
    try await OnboardingWorld.run { world in
      world.service.change { state in
        state.tellsResult = false
        state.events[7].warnings = [.init(step: 5, reason: "transcription_failed", message: "step 5 was not heard")]
      }
      try await world.push().markCompleted(OnboardingWorld.record())
      guard case .complete(let response)? = try await world.push().states().last else {
        Issue.record("not complete")
        return
      }
      #expect(response.submission?.stage == .done && response.processingWarnings == "step 5 was not heard")
    }
  }

  @Test("Whoever leaves the screen ends the stream of progress, and the next screen goes on")
  func left() async throws {
    try await OnboardingWorld.run { world in
      let (arrived, isOver) = (Signal(), Signal())
      world.service.change {
        $0.holds[5] = {
          arrived.fire()
          defer { isOver.fire() }
          try await Signal().wait(atMost: .seconds(600))
        }
      }
      try await world.push().markCompleted(OnboardingWorld.record())
      let reading = Task { for await _ in world.push().push() {} }
      try await arrived.wait(atMost: .seconds(20))
      reading.cancel()
      await reading.value
      try await isOver.wait(atMost: .seconds(20))
      world.service.change { $0.holds = [:] }
      #expect(try await world.push().states().last.map(short) == "complete")
    }
  }
}

import ParleyAPI
import RPC
import ScriptedOnboarding
import TestSupport
import Testing
import WellKnown

@testable import ClientCore

@Suite("Pushing when the service has the answers already")
struct PushAgainTests {
  private func kind(_ body: () async throws -> Void) async -> PushFailure.Kind? {
    do { try await body() } catch { return (error as? PushFailure)?.kind }
    return nil
  }

  /// An app of somebody who is signed in.
  private func push(_ world: OnboardingWorld, as user: String) -> OnboardingDataPush {
    let tokens = SessionTokens(
      accessToken: "token of \(user)", expiresIn: .init(seconds: 600), refreshToken: "refresh", sessionID: "session")
    let session = StoredSession(tokens, userID: user, begun: world.clock.now(), margin: .zero)
    let store = MemoryTokenStore()
    store.save(session.bytes, as: "session")
    let keeper = SessionKeeper(channel: world.channel, store: store, options: .init(clock: world.clock))
    return OnboardingDataPush(
      channel: SessionChannel(world.channel, keeper: keeper), store: world.store, options: .init(clock: world.clock))
  }

  @Test("O-12: after somebody has cleared what is stored, the next person has nothing to push and is told so")
  func cleared() async throws {
    try await OnboardingWorld.run { world in
      let ana = push(world, as: "ana")
      try await ana.markCompleted(OnboardingWorld.record())
      _ = try await ana.pushToBackend()
      try await ana.clearStoredData()
      #expect(try await world.store.delivery() == nil)
      let bo = push(world, as: "bo")
      #expect(await kind { _ = try await bo.pushToBackend() } == .noData)
      #expect(try await bo.states().last.map(short) == "failed noData")
    }
  }

  @Test("O-11: what somebody else has pushed from this device is nobody's success, and is forgotten", arguments: [true, false])
  func foreign(_ isSignedIn: Bool) async throws {
    try await OnboardingWorld.run { world in
      let ana = push(world, as: "ana")
      try await ana.markCompleted(OnboardingWorld.record())
      _ = try await ana.pushToBackend()
      #expect(try await world.store.delivery()?.person == "ana")
      world.service.change { $0.calls = [] }
      let found = await kind {
        if isSignedIn {
          _ = try await push(world, as: "bo").pushToBackend()
        } else {
          _ = try await world.push().pushToBackend(userID: "bo")
        }
      }
      #expect(found == .noData && world.service.state.calls.isEmpty)
      #expect(try await world.store.delivery() == nil)
    }
  }

  @Test("O-26: the same record is another request for another person, and the same one however the person is named")
  func persons() async throws {
    try await OnboardingWorld.run { world in
      for user in ["ana", "ana", "bo"] {
        let push = push(world, as: user)
        try await world.store.saveCompleted(OnboardingWorld.record().completed(at: world.clock.now()))
        _ = try await push.pushToBackend()
        try await push.clearStoredData()
      }
      try await world.store.saveCompleted(OnboardingWorld.record().completed(at: world.clock.now()))
      _ = try await world.push().pushToBackend(userID: "bo")
      let keys = world.service.state.completes.map(\.idempotencyKey)
      #expect(keys.count == 4 && keys[0] == keys[1] && keys[1] != keys[2] && keys[2] == keys[3])
    }
  }

  @Test("O-11: with nothing else to push, work that goes on is told as it stands, and once more when it is done")
  func standing() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      _ = try await world.push().pushToBackend()
      world.service.change { $0.standing = ScriptedOnboarding.event(4, .transcribing, 80, 1, of: 2) }
      #expect(try await world.push().pushToBackend().submission?.stage == .transcribing)
      world.service.change { $0.refusals["GetSubmission"] = [RPCError(.unavailable, "down")] }
      #expect(try await world.push().pushToBackend().submission?.stage == .transcribing)
      world.service.change { $0.standing = nil }
      #expect(try await world.push().pushToBackend().identityExtraction?.fieldsExtracted == 60)
      #expect(await kind { _ = try await world.push().pushToBackend() } == .noData)
      #expect(world.service.state.completes.count == 1)
    }
  }

  @Test("O-11: work that is done when the answers are taken is not followed")
  func doneAtOnce() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change { $0.events = [ScriptedOnboarding.event(1, .done, 100)] }
      #expect(try await world.push().pushToBackend().submission?.stage == .done)
      #expect(try await world.store.delivery() == nil)
      #expect(await kind { _ = try await world.push().pushToBackend() } == .noData)
    }
  }

  @Test("O-26: a key that the service knows with other content is left out, since the same record may be read anew there")
  func keyReused() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      let refusal = ScriptedOnboarding.refusal(.alreadyExists, "IDEMPOTENCY_KEY_REUSED")
      world.service.change { $0.refusals["Complete"] = [refusal] }
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(world.service.state.completes.only?.idempotencyKey == "")
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change { $0.refusals["Complete"] = [refusal, refusal] }
      #expect(await kind { _ = try await world.push().pushToBackend() } == .server(reason: "IDEMPOTENCY_KEY_REUSED"))
      #expect(try await world.push().hasPendingData())
    }
  }

  @Test("Without an answer of the service nothing is said of work that goes on")
  func unreached() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      _ = try await world.push().pushToBackend()
      let down = Array(repeating: RPCError(.unavailable, "down"), count: 5)
      world.service.change { $0.refusals["GetSubmission"] = down }
      #expect(await kind { _ = try await world.push().pushToBackend() } == .network)
      world.service.change { $0.taken = [:] }
      #expect(await kind { _ = try await world.push().pushToBackend() } == .server(reason: "SUBMISSION_NOT_FOUND"))
      #expect(await kind { _ = try await world.push().pushToBackend() } == .noData)
    }
  }

  /// Answers that the service has taken, on which it gave up the work; what comes next goes well.
  private func givenUp(_ world: OnboardingWorld) async throws {
    let service = world.service
    service.change {
      $0.events = [ScriptedOnboarding.event(1, .received, 40), ScriptedOnboarding.event(2, .failed, 80)]
    }
    try await world.push().markCompleted(OnboardingWorld.record())
    let last = try await world.push { $0.uploads = .always }.states().last.map(short)
    #expect(last == #"failed server(reason: "SUBMISSION_FAILED")"#)
    service.change { $0.completeHold = { service.change { $0.events = ScriptedOnboarding.usualEvents } } }
  }

  /// Checks that the service was sent what it had kept, by another key.
  private func check(_ service: ScriptedOnboarding) throws {
    let sent = service.state.completes
    try #require(sent.count == 2)
    let (first, again) = (sent[0], sent[1])
    #expect(again.state == first.state && again.idempotencyKey != first.idempotencyKey && again.idempotencyKey.count == 64)
    guard case .stringValue(let text)? = again.state?.responses["5"]?.value?.kind else {
      Issue.record("no reference")
      return
    }
    #expect(text.hasPrefix("recording:"))
  }

  @Test("O-13: to push again after the work was given up has it begun anew with the answers that the service keeps")
  func pushedAgain() async throws {
    try await OnboardingWorld.run { world in
      try await givenUp(world)
      #expect(try await world.store.load() == nil)
      let states = try await world.push().states().map(short)
      #expect(states.prefix(4) == ["idle", "checking", "uploading 0/0", "analyzing 1:1"] && states.last == "complete")
      try check(world.service)
      #expect(try await world.push().states().last.map(short) == "failed noData")
    }
  }

  @Test("O-13: work that is given up again fails again, and may be begun anew as often")
  func givenUpAgain() async throws {
    try await OnboardingWorld.run { world in
      try await givenUp(world)
      world.service.change { $0.completeHold = nil }
      for count in 2...3 {
        #expect(try await world.push().states().last.map(short) == #"failed server(reason: "SUBMISSION_FAILED")"#)
        #expect(world.service.state.completes.count == count)
      }
    }
  }

  @Test("O-13: pushToBackend has it begun anew, too, and asks by the same key when an answer is lost")
  func pushToBackend() async throws {
    try await OnboardingWorld.run { world in
      try await givenUp(world)
      #expect(try await world.push().pushToBackend().submission?.stage == .received)
      try check(world.service)
      #expect(try await world.push().states().last.map(short) == "complete")
    }
  }

  @Test("O-13: a device that knows nothing of what was pushed has it begun anew by resubmit, and follows it")
  func resubmit() async throws {
    try await OnboardingWorld.run { world in
      #expect(await kind { _ = try await world.push().resubmit() } == .noData)
      try await givenUp(world)
      try await world.push().clearStoredData()
      #expect(await kind { _ = try await world.push().pushToBackend() } == .noData)
      world.service.change { $0.lostAnswers = 1 }
      #expect(try await world.push().resubmit(voipToken: "abcd").success)
      let sent = world.service.state.completes
      #expect(sent.count == 3 && sent[1].idempotencyKey == sent[2].idempotencyKey && sent[2].voipToken == "abcd")
      #expect(try await world.push().states().last.map(short) == "complete")
    }
  }

  @Test("Work that was not given up is not begun anew: what is newest is told and followed")
  func notGivenUp() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      _ = try await world.push().pushToBackend()
      try await world.push().clearStoredData()
      #expect(try await world.push().resubmit().submission?.stage == .done)
      #expect(world.service.state.completes.count == 1)
      #expect(try await world.push().states().last.map(short) == "complete")
    }
  }

  @Test("A submission that was cleared while it was followed does not come back")
  func clearedMeanwhile() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change { $0.holds[3] = { try await world.push().clearStoredData() } }
      #expect(try await world.push().states().last.map(short) == "complete")
      // Each later event was seen, and none of them was written down.
      #expect(try await world.store.delivery() == nil)
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change { $0.watchEnds = Array(repeating: .broken(after: 0), count: 8) }
      world.service.change { $0.watchEnds.insert(.broken(after: 4), at: 0) }
      #expect(try await world.push().states().last.map(short) == "failed network")
      #expect(try await world.store.delivery() == nil)
    }
  }

  @Test("O-38: a stream that is refused because the token has run out is opened once more", arguments: [1, 2])
  func tokenRanOut(_ times: Int) async throws {
    try await OnboardingWorld.run { world in
      let refusal = ScriptedOnboarding.refusal(.unauthenticated, "ACCESS_TOKEN_EXPIRED")
      for method in ["UploadRecording", "WatchSubmission"] {
        try await world.push().markCompleted(OnboardingWorld.record())
        world.service.change { $0.refusals[method] = Array(repeating: refusal, count: times) }
        let last = try await world.push { $0.uploads = .always }.states().last.map(short)
        #expect(last == (times == 1 ? "complete" : "failed notSignedIn"))
      }
    }
  }

  @Test("Whoever asks for a long wait while the work is followed ends the push, which says for how long")
  func longWait() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change {
        $0.refusals["WatchSubmission"] = [ScriptedOnboarding.refusal(.unavailable, "BUSY", wait: .seconds(86_400))]
      }
      guard case .failed(let failure)? = try await world.push().states().last else {
        Issue.record("not failed")
        return
      }
      #expect(failure.kind == .network && failure.retryAfter == .seconds(86_400) && world.clock.slept.isEmpty)
      #expect(try await world.push().states().last.map(short) == "complete")
    }
  }
}

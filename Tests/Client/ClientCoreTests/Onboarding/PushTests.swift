import EventLoop
import Foundation
import JSON
import ParleyAPI
import RPC
import RPCClient
import RPCInProcess
import ScriptedOnboarding
import TestSupport
import Testing
import WellKnown

@testable import ClientCore

@Suite("Pushing the answers")
struct PushTests {
  private func failure(_ body: () async throws -> Void) async -> PushFailure? {
    do { try await body() } catch { return error as? PushFailure }
    return nil
  }

  @Test("O-11, O-12: answers are pushed in one request with person and token, and are gone here once they are durable")
  func pushToBackend() async throws {
    try await OnboardingWorld.run { world in
      let push = world.push {
        $0.voiceConsent = .init(isGiven: true, statement: "v2")
        $0.device = .init(type: "apns", osVersion: "18.1")
      }
      try await push.markCompleted(OnboardingWorld.record())
      let response = try await push.pushToBackend(userID: "user-1", voipToken: "abcd")
      #expect(response.success && response.totalSteps == 3 && response.filesProcessed == 2)
      let sent = try #require(world.service.state.completes.only)
      #expect(sent.userID == "user-1" && sent.voipToken == "abcd" && sent.wait == nil && sent.voiceConsent?.statement == "v2")
      #expect(sent.state?.responses.count == 3 && sent.state?.progressPercentage == 100 && sent.deviceMetadata?.type == "apns")
      #expect(sent.idempotencyKey.utf8.count == 64)
      #expect(try await !push.hasPendingData())
    }
  }

  @Test("O-24: a device without a token pushes without one", arguments: ["gRPC", "Connect"])
  func noToken(_ wire: String) async throws {
    try await OnboardingWorld.run(wire) { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      _ = try await world.push().pushToBackend()
      let sent = try #require(world.service.state.completes.only)
      #expect(sent.voipToken == nil && sent.userID == "")
      var expected = OnboardingWorld.record().completed(at: world.clock.now()).message
      expected.lastSavedAt = sent.state?.lastSavedAt ?? ""
      #expect(sent.state == expected)
    }
  }

  @Test(
    "O-38, O-39: the states are checking, uploading 40, analyzing 80, complete 100, by themselves",
    arguments: ["gRPC", "Connect"])
  func states(_ wire: String) async throws {
    try await OnboardingWorld.run(wire) { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      let states = try await world.push().states()
      let events = (1...7).map { "analyzing 1:\($0)" }
      #expect(states.map(short) == ["idle", "checking", "uploading 0/0", "analyzing 1:1"] + events + ["complete"])
      let bars = Set(states.map { state in "\(short(state).prefix(4)) \(state.percent ?? -1)" })
      #expect(bars == ["idle 0", "chec 0", "uplo 40", "anal 80", "comp 100"])
      guard case .complete(let response)? = states.last else { return }
      #expect(response.identityExtraction?.fieldsExtracted == 60 && response.identityExtraction?.voiceTranscribed == 8)
      #expect(world.service.state.completes.only?.wait == .init(seconds: 0))
      // Nothing is left to do, here and there.
      #expect(try await world.push().states().map(short) == ["idle", "checking", "failed noData"])
      #expect(try await world.store.delivery() == nil)
    }
  }

  @Test("O-14: before anything is sent the service is asked whether it answers; without an answer nothing is sent")
  func connectivity() async throws {
    try await OnboardingWorld.run { world in
      #expect(await world.push().testApiConnectivity())
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change { $0.refusals["ListSteps"] = [RPCError(.unavailable, "down"), RPCError(.unavailable, "down")] }
      #expect(await !world.push().testApiConnectivity())
      #expect(try await world.push().states().map(short) == ["idle", "checking", "failed network"])
      #expect(world.service.state.completes.isEmpty)
      // A service that limits whoever asks too often is there.
      world.service.change {
        $0.refusals["ListSteps"] = [ScriptedOnboarding.refusal(.resourceExhausted, "RATE_LIMITED", wait: .seconds(1))]
      }
      #expect(await world.push().testApiConnectivity())
      #expect(try await world.push().states().last.map(short) == "complete")
    }
  }

  @Test(
    "O-12, O-13: a push that fails says why, keeps the answers, and succeeds when it is repeated",
    arguments: [
      (.unauthenticated, "SESSION_EXPIRED", "notSignedIn"), (.failedPrecondition, "SUBSCRIPTION_REQUIRED", "noSubscription"),
      (.aborted, "SUBMISSION_RUNNING", "running"), (.internal, "STORAGE", #"server(reason: "STORAGE")"#),
      (.permissionDenied, "FOREIGN_USER", #"server(reason: "FOREIGN_USER")"#),
    ] as [(StatusCode, String, String)])
  func failures(_ code: StatusCode, _ reason: String, _ kind: String) async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      let stored = try await world.store.load()
      world.service.change { $0.refusals["Complete"] = [ScriptedOnboarding.refusal(code, reason, wait: .seconds(3))] }
      let states = try await world.push().states()
      #expect(states.map(short) == ["idle", "checking", "uploading 0/0", "failed \(kind)"])
      guard case .failed(let failure)? = states.last else { return }
      #expect(
        failure.text == "Failed to push: refused: \(reason)" && failure.retryAfter == .seconds(3) && !failure.advice.isEmpty)
      #expect(failure.needsPaywall == (kind == "noSubscription"))
      #expect(try await world.store.load() == stored)
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(try await world.store.load() == nil)
    }
  }

  @Test(
    "O-13: an answer that was lost is asked for by the same key, and the service takes the answers once",
    arguments: ["gRPC", "Connect"])
  func lostAnswer(_ wire: String) async throws {
    try await OnboardingWorld.run(wire) { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change { $0.lostAnswers = 2 }
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(world.service.state.completes.count == 3 && world.service.state.taken.count == 1)
      #expect(world.clock.slept == [.milliseconds(400), .milliseconds(800)])
    }
  }

  @Test("Whoever answers may ask for a minute's wait; beyond that the push ends and says for how long")
  func longWait() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      let refuse = { @Sendable (code: StatusCode, wait: Int64) in
        world.service.change {
          $0.refusals["Complete"] = [ScriptedOnboarding.refusal(code, "BUSY", wait: .seconds(wait))]
        }
      }
      for code in [StatusCode.unavailable, .aborted, .resourceExhausted, .deadlineExceeded] {
        refuse(code, 61)
        let failure = await failure { _ = try await world.push().pushToBackend() }
        #expect(failure?.retryAfter == .seconds(61) && world.clock.slept.isEmpty, "\(code)")
      }
      #expect(try await world.push().hasPendingData())
      refuse(.unavailable, 60)
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(world.clock.slept == [.seconds(60)])
    }
  }

  @Test(
    "Somebody on the way who refuses in the service's place is the network, not the person's sign-in", arguments: [401, 403, 404])
  func proxy(_ status: Int) async throws {
    let server = try ScriptedServer { request, connection in
      request.verb == "GET"
        ? connection.respond(200, ["content-type: application/json"], #"{"steps": []}"#)
        : connection.respond(status, ["content-type: text/html"], "<p>no</p>")
    }
    defer { server.close() }
    let push = OnboardingDataPush(
      channel: ConnectJSONChannel(baseURL: server.url), store: OnboardingStore(MemoryKeyValueStore()),
      options: .init(clock: SteppedClock()))
    try await push.markCompleted(OnboardingWorld.record())
    #expect(try await push.states().map(short) == ["idle", "checking", "uploading 0/0", "failed network"])
    #expect(try await push.hasPendingData())
  }

  @Test("O-13: when every answer is lost the push fails, and after a restart it goes on by the same key")
  func allAnswersLost() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      world.service.change { $0.lostAnswers = 3 }
      #expect(try await world.push { $0.attempts = 3 }.states().last.map(short) == "failed network")
      #expect(try await world.push().hasPendingData())
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(world.service.state.completes.count == 4 && world.service.state.taken.count == 1)
    }
  }

  @Test("O-12: what was answered while the push was under way is not cleared by it")
  func writtenMeanwhile() async throws {
    try await OnboardingWorld.run { world in
      let push = world.push()
      try await push.markCompleted(OnboardingWorld.record())
      var later = OnboardingWorld.record()
      later.answer(9, .text("late"))
      let (arrived, goOn) = (Signal(), Signal())
      world.service.change {
        $0.completeHold = {
          arrived.fire()
          try await goOn.wait()
        }
      }
      async let pushed = push.pushToBackend()
      try await arrived.wait(atMost: .seconds(20))
      try await push.markCompleted(later)
      goOn.fire()
      _ = try await pushed
      #expect(try await push.getStoredData()?.responses[9]?.value?.string == "late")
      // Other content is another request.
      world.service.change { $0.completeHold = nil }
      _ = try await push.pushToBackend()
      #expect(Set(world.service.state.completes.map(\.idempotencyKey)).count == 2)
      #expect(try await !push.hasPendingData())
    }
  }

  @Test("O-08, O-13: answers that are not complete, or not there, are not pushed: complete onboarding first")
  func noData() async throws {
    try await OnboardingWorld.run { world in
      #expect(await failure { _ = try await world.push().pushToBackend() }?.kind == .noData)
      try await world.push().saveProgress(OnboardingWorld.record())
      let failure = await failure { _ = try await world.push().pushToBackend() }
      #expect(failure?.kind == .noData && failure?.advice == "Complete onboarding first.")
      #expect(try await world.push().hasPendingData() && world.service.state.calls.isEmpty)
    }
  }

  @Test("O-19: a stored record with the path of a file is not pushed")
  func path() async throws {
    try await OnboardingWorld.run { world in
      var data = OnboardingWorld.record().completed()
      data.answer(10, OnboardingResponseData(type: "voice", value: "/var/mobile/a.m4a"))
      world.entries.save(data.json.encoded(), as: OnboardingStore.completedKey)
      let failure = await failure { _ = try await world.push().pushToBackend() }
      #expect(failure?.kind == .invalidData && failure?.text.contains("step 10") == true)
      #expect(world.service.state.completes.isEmpty)
    }
  }

  @Test("Nobody being signed in, the push says so and keeps the answers")
  func notSignedIn() async throws {
    try await OnboardingWorld.run { world in
      let keeper = SessionKeeper(channel: world.channel, store: MemoryTokenStore())
      let push = OnboardingDataPush(
        channel: SessionChannel(world.channel, keeper: keeper), store: world.store, options: .init(clock: world.clock))
      try await push.markCompleted(OnboardingWorld.record())
      #expect(await push.testApiConnectivity())
      #expect(try await push.states().map(short) == ["idle", "checking", "uploading 0/0", "failed notSignedIn"])
      #expect(try await push.hasPendingData() && world.service.state.completes.isEmpty)
    }
  }

  @Test("A service that nobody listens for is a network failure that names no host")
  func nobody() async throws {
    let group = try EventLoopGroup(count: 1, name: "nobody", blockingThreads: 1)
    defer { group.shutDown() }
    let channel = ClientChannel(to: .host("127.0.0.1", port: 1), on: group, configuration: .init())
    let push = OnboardingDataPush(channel: channel, store: OnboardingStore(MemoryKeyValueStore()))
    try await push.markCompleted(OnboardingWorld.record())
    let found = await failure { _ = try await push.pushToBackend() }
    #expect(found?.kind == .network && found?.text.contains("127.0.0.1") == false)
    await channel.close()
  }

  @Test("A device whose store fails says so")
  func storage() async throws {
    let folder = try ScratchFolder()
    _ = FileManager.default.createFile(atPath: folder.path + "/file", contents: Data())
    let push = OnboardingDataPush(
      channel: InProcessChannel(services: []), store: OnboardingStore(FileKeyValueStore(folder: folder.path + "/file")))
    #expect(try await push.states().map(short) == ["idle", "checking", "failed storage"])
  }

  @Test("Whoever leaves the screen ends the push and its call, and the answers stay")
  func left() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(OnboardingWorld.record())
      let (arrived, isOver) = (Signal(), Signal())
      world.service.change {
        $0.completeHold = {
          arrived.fire()
          defer { isOver.fire() }
          try await Signal().wait(atMost: .seconds(600))
        }
      }
      let reading = Task {
        var count = 0
        for await _ in world.push().push() { count += 1 }
        return count
      }
      try await arrived.wait(atMost: .seconds(20))
      reading.cancel()
      #expect(await reading.value == 3)
      try await isOver.wait(atMost: .seconds(20))
      #expect(try await world.push().hasPendingData())
    }
  }
}

extension Array {
  /// The element of an array that has one.
  var only: Element? { count == 1 ? first : nil }
}

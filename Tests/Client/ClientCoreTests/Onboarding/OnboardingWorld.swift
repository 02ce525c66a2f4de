import EventLoop
import Foundation
import HTTP2
import JSON
import ParleyAPI
import RPC
import RPCClient
import ScriptedOnboarding
import TestSupport

@testable import ClientCore

/// A device on which somebody is being set up, and a service at the other end of a real connection.
struct OnboardingWorld: Sendable {
  let service: ScriptedOnboarding
  let channel: any RPC.Channel
  let entries: MemoryKeyValueStore
  let clock: SteppedClock

  var store: OnboardingStore { OnboardingStore(entries) }

  /// What an app makes at its start; each time a new one over the same entries.
  func push(_ change: (inout OnboardingDataPush.Options) -> Void = { _ in }) -> OnboardingDataPush {
    var options = OnboardingDataPush.Options(pieceBytes: 8_000, clock: clock)
    change(&options)
    return OnboardingDataPush(channel: channel, store: store, options: options)
  }

  /// Runs `body` with a service that is reached by gRPC, or by Connect and JSON through the edge.
  static func run(_ wire: String = "gRPC", _ body: @Sendable (OnboardingWorld) async throws -> Void) async throws {
    guard wire == "gRPC" || Edge.isInstalled else { return }
    let group = try EventLoopGroup(count: 1, name: "onboarding", blockingThreads: 1)
    defer { group.shutDown() }
    let service = ScriptedOnboarding()
    try await service.serve(on: group) { port in
      let grpc = ClientChannel(to: .host("127.0.0.1", port: port), on: group, configuration: .init())
      let edge = wire == "gRPC" ? nil : try Edge(inFrontOf: port)
      let outcome: Result<Void, any Error>
      do {
        let channel: any RPC.Channel = edge.map { ConnectJSONChannel(baseURL: $0.url) } ?? grpc
        let world = OnboardingWorld(service: service, channel: channel, entries: .init(), clock: .init())
        // The proxy may not listen yet.
        let patience = Deadline.after(.seconds(30).withPatience)
        while await !world.push().testApiConnectivity(), !patience.hasPassed {}
        service.change { $0.calls = [] }
        outcome = .success(try await body(world))
      } catch {
        outcome = .failure(error)
      }
      // What a test lets the service wait for may hold the service.
      service.change { ($0.holds, $0.completeHold) = ([:], nil) }
      edge?.stop()
      await grpc.close()
      try outcome.get()
    }
  }

  /// A complete record: a name and two recordings.
  static func record() -> StoredOnboardingData {
    let start = Date(timeIntervalSince1970: 1_800_000_000)
    var data = StoredOnboardingData(startedAt: start, timezone: "Europe/Berlin")
    data.answer(3, .text("Ana", at: start))
    for step in [2, 5] { data.answer(step, voice(step)) }
    return data
  }

  /// An answer with a recording of a few thousand bytes, another one for each step.
  static func voice(_ step: Int, bytes: Int = 3_000) -> OnboardingResponseData {
    let recording = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ step) }
    var answer = OnboardingResponseData(
      type: "voice", value: .string(DataURL(mediaType: "audio/m4a", bytes: recording).text),
      at: Date(timeIntervalSince1970: 1_800_000_001))
    (answer.duration, answer.audioFileSize, answer.audioFormat) = (8, bytes, "m4a")
    return answer
  }
}

/// States in short, as a test compares them.
func short(_ state: PushState) -> String {
  switch state {
  case .idle: "idle"
  case .checking: "checking"
  case .uploading(let done, let total): "uploading \(done)/\(total)"
  case .analyzing(let submission): "analyzing \(submission.position)"
  case .complete: "complete"
  case .failed(let failure): "failed \(failure.kind)"
  }
}

extension OnboardingDataPush {
  /// All states of a push, to its end.
  func states() async throws -> [PushState] {
    let stream = push()
    return try await within(.seconds(60)) {
      var states: [PushState] = []
      for await state in stream { states.append(state) }
      return states
    }
  }
}

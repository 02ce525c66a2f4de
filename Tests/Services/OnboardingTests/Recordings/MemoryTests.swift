import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import OnboardingStore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("What is in memory", .serialized)
struct MemoryTests {
  @Test("However many recordings wait for a provider that does not answer, 256 MiB are in memory for them")
  func memory() async throws {
    // Each is there three times: eight of 10 MiB, and the ninth waits.
    let (people, spoken, fit) = (3, 4, 8)
    try await OnboardingWorld.with { world in
      let path = "/openai/v1/audio/transcriptions"
      try await world.sandbox.control(.post, "hold", ["path": .string(path), "count": .number(JSONNumber(people * spoken))])
      for person in 0..<people {
        var responses: [String: OnboardingAnswer] = [:]
        for (index, step) in [2, 5, 7, 10].enumerated() {
          responses["\(step)"] = .spoken(SpokenFiles.tone(bytes: (10 << 20) - 2 * index), as: "audio/wav")
        }
        _ = try await world.client.complete(
          .init(state: .init(responses: responses), wait: .init()),
          options: OnboardingWorld.options(try await world.signIn("person \(person)")))
      }
      try await world.sandbox.awaitHeld(fit)
      // Whoever is looked into after them is done: nothing more is on its way.
      let ana = try await world.signIn("ana")
      for _ in 0..<2 {
        let heard = try await world.post(
          "/transcribe/audio", try SpokenFiles.silence(), as: ana, ["Content-Type": "audio/mp4"])
        #expect(heard.status == 200, "\(heard)")
      }
      let held = try await world.sandbox.control(.get, "hold")["waiting"]?.array?.count
      #expect(held == fit, "\(held as Any)")
      try await world.sandbox.control(.delete, "hold")
      try await eventually(atMost: .seconds(60)) {
        try await world.value("select count(*) from onboarding.recording where state = 'done'", as: Int64.self)
          == Int64(people * spoken)
      }
    }
  }
}

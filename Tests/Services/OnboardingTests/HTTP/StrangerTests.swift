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

@Suite("People without an account", .serialized)
struct StrangerTests {
  private static let settings = ["TRUSTED_PROXIES": "127.0.0.0/8"]

  /// Sends a recording from an address of its own.
  private static func send(
    _ bytes: [UInt8], from address: Int, _ world: OnboardingWorld
  ) async throws -> (status: Int, body: JSONValue) {
    try await world.post(
      "/onboarding/analyze-voice?sessionId=abc", bytes, as: nil,
      ["Content-Type": "audio/wav", "X-Forwarded-For": "203.0.113.\(address)"])
  }

  @Test("All of them together have one limit, whatever their addresses, and those with an account are not held up by it")
  func together() async throws {
    try await OnboardingWorld.with(Self.settings.merging(["STRANGERS_PER_MINUTE": "3"]) { $1 }) { world in
      let bytes = SpokenFiles.tone(bytes: 64_044)
      for address in 1...3 { #expect(try await Self.send(bytes, from: address, world).status == 200, "\(address)") }
      let more = try await Self.send(bytes, from: 4, world)
      #expect(more.status == 429 && more.body["code"]?.string == "RATE_LIMITED", "\(more)")
      #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 3)
      let ana = try await world.signIn("ana")
      #expect(try await world.post("/transcribe/audio", bytes, as: ana, ["Content-Type": "audio/wav"]).status == 200)
      world.parley.clock.advance(by: .seconds(20))
      #expect(try await Self.send(bytes, from: 4, world).status == 200)
      #expect(try await Self.send(bytes, from: 5, world).status == 429)
    }
  }

  @Test("A recording of 60 seconds is written down, and a longer one is refused before anybody is paid")
  func long() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let most = try await Self.send(SpokenFiles.tone(bytes: 44 + 60 * 32_000), from: 1, world)
      #expect(most.status == 200 && most.body["success"]?.bool == true, "\(most)")
      for seconds in [61, 1_000] {
        let refused = try await Self.send(
          SpokenFiles.tone(bytes: min(44 + seconds * 32_000, 10 << 20)), from: 2, world)
        #expect(refused.status == 400 && refused.body["code"]?.string == "AUDIO_TOO_LONG", "\(seconds): \(refused)")
      }
      #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 1)
    }
  }

  @Test("Eight are served at once, and one more is sent away, while those with an account are served")
  func crowd() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let bytes = SpokenFiles.tone(bytes: 64_044)
      try await world.sandbox.control(.post, "hold", ["path": "/openai/v1/audio/transcriptions", "count": 8])
      let crowd = (1...8).map { address in Task { try await Self.send(bytes, from: address, world).status } }
      try await world.sandbox.awaitHeld(8)
      let refused = try await Self.send(bytes, from: 9, world)
      #expect(refused.status == 503 && refused.body["code"]?.string == "STRANGERS_BUSY", "\(refused)")
      let ana = try await world.signIn("ana")
      #expect(try await world.post("/transcribe/audio", bytes, as: ana, ["Content-Type": "audio/wav"]).status == 200)
      try await world.sandbox.control(.delete, "hold")
      for call in crowd { #expect(try await call.value == 200) }
      #expect(try await Self.send(bytes, from: 9, world).status == 200)
    }
  }
}

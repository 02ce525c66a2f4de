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

@Suite("What is bounded, whoever sends it", .serialized)
struct BoundTests {
  /// A text of one character, and of so many bytes: an `e` with accents.
  private static func accents(bytes: Int) -> String { "e" + String(repeating: "\u{301}", count: (bytes - 1) / 2) }

  /// The field that is refused; nil where nothing is.
  private static func refused(_ call: () async throws -> Void) async throws -> String? {
    do { try await call() } catch let error as RPCError {
      guard error.code == .invalidArgument else { throw error }
      for case .badRequest(let violations) in error.details { return violations.first?.field }
    }
    return nil
  }

  @Test("Texts beside the answers are bounded in bytes: accents without end are one character")
  func texts() async throws {
    try await OnboardingWorld.with(["RATE_LIMITS": "complete=1000/1000"]) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      var number = 0
      func complete(
        _ change: (inout CompleteRequest) -> Void, name: String? = nil, answer: OnboardingAnswer? = nil
      ) async throws -> String? {
        number += 1
        var request = CompleteRequest(state: .init(responses: ["9": .written("answer \(number)")], userName: name))
        if let answer { request.state?.responses["2"] = answer }
        change(&request)
        return try await Self.refused { _ = try await world.client.complete(request, options: options) }
      }
      #expect(Self.accents(bytes: 257).count == 1)
      let statements: [(Int, String?)] = [(255, nil), (257, "voice_consent.statement")]
      for (bytes, field) in statements {
        let statement = Self.accents(bytes: bytes)
        #expect(try await complete { $0.voiceConsent = .init(isGiven: true, statement: statement) } == field)
        #expect(
          try await Self.refused {
            _ = try await world.voices.giveVoiceConsent(.init(statement: statement), options: options)
          } == field.map { _ in "statement" })
      }
      for (bytes, isRefused) in [(4_096, false), (4_097, true)] {
        let token = String(repeating: "t", count: bytes)
        #expect(try await complete { $0.voipToken = token } == (isRefused ? "voip_token" : nil))
        #expect(try await complete { $0.pushToken = token } == (isRefused ? "push_token" : nil))
      }
      // {"deviceModel":"…"}
      for (bytes, isRefused) in [(4_096, false), (4_097, true)] {
        let device = DeviceMetadata(deviceModel: String(repeating: "d", count: bytes - 18))
        #expect(try device.jsonString().utf8.count == bytes)
        #expect(try await complete { $0.deviceMetadata = device } == (isRefused ? "device_metadata" : nil))
      }
      // A name is cut, as it is after a hundred characters.
      let name = "Ana" + Self.accents(bytes: 2_001)
      #expect(try await complete({ _ in }, name: name) == nil)
      let kept: String? = try await world.value("select name from onboarding.submission order by number desc limit 1")
      #expect(kept == "Ana")
      #expect(try await complete({ _ in }, name: String(repeating: "ä", count: 101)) == nil)
      let cut: String? = try await world.value("select name from onboarding.submission order by number desc limit 1")
      #expect(cut == String(repeating: "ä", count: 100))
      // A recording that is none is kept as text.
      let broken = OnboardingAnswer(type: "voice", value: .init(kind: .stringValue("data:audio/m4a;base64,AA\u{0}A")))
      #expect(try await complete({ _ in }, answer: broken) == "state.responses[2].value")

      let values: [(Int, String?)] = [(8_191, nil), (8_193, "value")]
      for (bytes, field) in values {
        #expect(
          try await Self.refused {
            _ = try await world.identity.correctIdentity(
              .init(name: "core_struggle", value: Self.accents(bytes: bytes)), options: options)
          } == field)
      }
    }
  }
}

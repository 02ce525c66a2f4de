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
import Values
import WellKnown

@Suite("An account that is deleted while a provider is away", .serialized)
struct AwayTests {
  @Test("An account is deleted while the provider of voices is away: all else is gone at once, and the voice follows")
  func voices() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let user = ana.userID.description
      let request = CompleteRequest(
        state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1"))
      #expect(try await world.client.complete(request, options: OnboardingWorld.options(ana)).voiceClone?.success == true)
      try await world.sandbox.fail("/elevenlabs/voice-deletion", ["status": 429, "count": 1_000])
      try await world.withAccountData { data in
        let work = Values.UUID.v7().description
        let deleted = try await data.delete(.init(userID: user, workID: work), options: OnboardingWorld.withoutSession())
        #expect(deleted.kinds.first { $0.kind == "answers" }?.deleted == 45, "\(deleted)")
        let held = deleted.kinds.filter { $0.held > 0 }
        #expect(held.map(\.kind).sorted() == ["deletions", "voices_to_delete"] && held.allSatisfy { !$0.whyHeld.isEmpty })
        #expect(world.blobs(of: ana).isEmpty)
        let left = try await data.report(.init(userID: user), options: OnboardingWorld.withoutSession()).kinds
        #expect(left.map(\.kind).sorted() == ["deletions", "voices_to_delete"], "\(left)")
        // Again, since the first answer was lost.
        _ = try await data.delete(.init(userID: user, workID: work), options: OnboardingWorld.withoutSession())
        #expect(try await world.sandbox.effects("voices")["existing"]?.int64 == 1)
        try await world.sandbox.control(.delete, "faults")
        try await eventually {
          try await world.pass(.seconds(60))
          return try await world.sandbox.effects("voices")["existing"]?.int64 == 0
        }
        try await eventually {
          try await data.report(.init(userID: user), options: OnboardingWorld.withoutSession()).kinds
            .allSatisfy { $0.kind == "deletions" }
        }
      }
    }
  }
}

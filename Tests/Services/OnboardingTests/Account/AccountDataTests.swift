import AuthDomain
import EventLoop
import Foundation
import JSON
import MessagesCore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
import Values
import WellKnown

@Suite("What onboarding keeps of people", .serialized)
struct AccountDataTests {
  @Test("Everything is handed out with the recordings, and deleted with the voice at the provider; others keep theirs")
  func all() async throws {
    try await OnboardingWorld.with { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.signIn("ben"))
      let state = try OnboardingWorld.record(voices: 5)
      for user in [ana, ben] {
        let request = CompleteRequest(state: state, voiceConsent: .init(isGiven: true, statement: "v1"))
        let answer = try await world.client.complete(request, options: OnboardingWorld.options(user))
        #expect(answer.voiceClone?.success == true)
      }
      try await world.withAccountData { data in
        let options = OnboardingWorld.withoutSession()
        let user = ana.userID.description
        let documents = try await data.export(.init(userID: user), options: options) { responses in
          var documents: [String: Int] = [:]
          for try await part in responses { documents[part.document, default: 0] += part.data.count }
          return documents
        }
        let recordings = documents.filter { $0.key.hasPrefix("recording-") }
        let sizes = try OnboardingWorld.recordings(in: state).values.map(\.count)
        #expect(recordings.values.sorted() == sizes.sorted(), "\(documents)")
        #expect(documents["answers.jsonl"] != nil && documents["identity_fields.jsonl"] != nil)
        let work = UUID.v7().description
        let deleted = try await data.delete(.init(userID: user, workID: work), options: options)
        #expect(deleted.kinds.first { $0.kind == "answers" }?.deleted == 45, "\(deleted)")
        #expect(try await data.delete(.init(userID: user, workID: work), options: options).kinds.map(\.kind) == ["deletions"])
        let held = try await data.report(.init(userID: user), options: options).kinds
        #expect(held.map(\.kind) == ["deletions"] && held.allSatisfy { !$0.whyHeld.isEmpty }, "\(held)")
        let others = try await data.report(.init(userID: ben.userID.description), options: options)
        #expect(others.kinds.first { $0.kind == "recordings" }?.held == 5)
      }
      #expect(try await world.sandbox.effects("voices")["existing"]?.int64 == 1)
      #expect(try await world.value("select count(*) from onboarding.job where user_id is not null", as: Int64.self) == 2)
      let left = (try? FileManager.default.contentsOfDirectory(atPath: "\(world.folder)/\(ana.userID)")) ?? []
      #expect(left.isEmpty, "\(left)")
      #expect(try await world.voices.listVoiceClips(options: OnboardingWorld.options(ben)).clips.count == 5)
    }
  }
}

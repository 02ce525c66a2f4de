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

@Suite("A recording that the object store has lost", .serialized)
struct MissingRecordingTests {
  @Test("A recording that is lost keeps nobody from an export of the others, which says what is missing")
  func lost() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 3)), options: OnboardingWorld.options(ana))
      let lost = try #require(world.blobs(of: ana).sorted().first)
      try FileManager.default.removeItem(atPath: "\(world.folder)/\(ana.userID)/\(lost)")
      try await world.withAccountData { data in
        let documents = try await data.export(
          .init(userID: ana.userID.description), options: OnboardingWorld.withoutSession()
        ) { responses in
          var documents: [String: [UInt8]] = [:]
          for try await part in responses { documents[part.document, default: []] += part.data }
          return documents
        }
        #expect(documents.keys.count { $0.hasPrefix("recording-") } == 2, "\(documents.keys)")
        let missing = String(decoding: documents["missing.jsonl"] ?? [], as: UTF8.self)
        #expect(missing == "{\"sha256\":\"\(lost)\",\"reason\":\"audio_lost\"}\n", "\(missing)")
      }
    }
  }
}

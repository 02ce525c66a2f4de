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
  private static func options() -> CallOptions { CallOptions(deadline: .after(.seconds(55).withPatience)) }

  @Test("A recording that is lost keeps nobody from an export of the others, which says what is missing")
  func lost() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 3)), options: OnboardingWorld.options(ana))
      let lost = try #require(world.blobs(of: ana).sorted().first)
      try FileManager.default.removeItem(atPath: "\(world.folder)/\(ana.userID)/\(lost)")
      try await world.parley.withSecureChannel(to: world.instance, showing: .service) { channel in
        let documents = try await AccountDataService.Client(channel).export(
          .init(userID: ana.userID.description), options: Self.options()
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

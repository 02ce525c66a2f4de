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

@Suite("An object store that is away", .serialized)
struct ObjectStoreTests {
  /// Somebody who completes while the store cannot keep anything: where their folder would be, something else is.
  ///
  /// - Returns: Who it is, and what is in the way.
  private static func completed(_ world: OnboardingWorld, voices: Int) async throws -> (user: TestUser, obstacle: String) {
    let ana = try await world.signIn("ana")
    let place = "\(world.folder)/\(ana.userID)"
    try FileManager.default.createDirectory(atPath: world.folder, withIntermediateDirectories: true)
    try Data().write(to: URL(fileURLWithPath: place))
    _ = try await world.client.complete(
      .init(state: try OnboardingWorld.record(voices: voices), wait: .init()), options: OnboardingWorld.options(ana))
    return (ana, place)
  }

  @Test("Recordings leave the database when the object store is back, however long it was away, by themselves or when told")
  func objectStore() async throws {
    try await OnboardingWorld.with { world in
      let (ana, obstacle) = try await Self.completed(world, voices: 2)
      @Sendable func jobs(_ kind: String) async throws -> Int64? {
        try await world.value("select count(*) from onboarding.job where kind = \(kind)", as: Int64.self)
      }
      // Attempt by attempt, round by round, to the end of the last one.
      try await eventually(atMost: .seconds(60)) {
        try await world.pass(.seconds(3_600))
        let (rounds, storing) = (try await jobs("onboarding.process"), try await jobs("onboarding.store"))
        return rounds == 0 && storing == 1
      }
      let waiting: Int64? = try await world.value("select count(*) from onboarding.recording where stored_at is null")
      #expect(waiting == 2)
      #expect(try await world.value("select count(*) from onboarding.recording where state = 'done'", as: Int64.self) == 2)
      try FileManager.default.removeItem(atPath: obstacle)
      try await eventually {
        try await world.pass(.seconds(3_600))
        return try await world.value(
          "select count(*) from onboarding.recording where stored_at is null", as: Int64.self) == 0
      }
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
      #expect(world.blobs(of: ana).count == 2)
      try await eventually { try await jobs("onboarding.store") == 0 }
      let later = OnboardingWorld.options(try await world.signIn("ana"))
      #expect(try await world.client.getSubmission(options: later).submission?.warnings.isEmpty == true)
    }
  }

  @Test("An operator has what the object store does not have moved there, also where nothing is to be written down")
  func told() async throws {
    try await OnboardingWorld.with { world in
      let (ana, obstacle) = try await Self.completed(world, voices: 1)
      try await eventually {
        try await world.pass(.seconds(61))
        return try await world.value("select stage from onboarding.submission", as: String.self) == "done"
      }
      // Its rounds are gone, whatever became of them.
      try await world.parley.withDatabase { _ = try await $0.execute("delete from onboarding.job") }
      try FileManager.default.removeItem(atPath: obstacle)
      let path = "/debug/onboarding/retry-transcription/\(ana.userID)"
      let told = try await world.post(path, [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(told.status == 200 && told.body["recordings"]?.int64 == 0, "\(told)")
      try await eventually {
        try await world.value("select count(*) from onboarding.recording where stored_at is null", as: Int64.self) == 0
      }
      #expect(world.blobs(of: ana).count == 1)
    }
  }
}

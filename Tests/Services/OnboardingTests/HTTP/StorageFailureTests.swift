import AuthDomain
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSupport
import Testing
import WellKnown

@Suite("When answers cannot be kept", .serialized)
struct StorageFailureTests {
  @Test(
    "O-13, O-21, JOB-M9: complete only when all rows are durable, in one transaction; where one cannot be, none is, and it is 500",
    arguments: ["submission", "job"])
  func nothingHalf(_ name: String) async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(voices: 2)
      let table: Query = name == "job" ? "job" : "submission"
      try await world.refuse("insert", on: table)
      let failed = try await world.post("/onboarding/v3/complete", try OnboardingWorld.body(state), as: ana)
      #expect(failed.status == 500 && failed.body.object?.count == 4 && failed.body["code"] == "INTERNAL", "\(failed)")
      #expect(failed.body["success"] == false && failed.body["error"] == "Failed to complete onboarding")
      #expect(failed.body["details"]?.string?.hasPrefix("internal error, incident ") == true, "\(failed)")
      let error = await #expect(throws: RPCError.self) { try await world.client.complete(.init(state: state), options: options) }
      #expect(error?.code == .internal)
      for table: Query in ["answer", "recording", "staged_bytes", "submission", "job"] {
        #expect(try await world.value("select count(*) from onboarding.\(part: table)", as: Int64.self) == 0, "\(table)")
      }
      let progress = try await world.client.getProgress(options: options)
      #expect(progress.state?.isCompleted == false && progress.submission == nil)
      try await world.allow(on: table)
      let kept = try await world.post("/onboarding/v3/complete", try OnboardingWorld.body(state), as: ana)
      #expect(kept.status == 200 && kept.body["totalSteps"]?.int64 == 45 && kept.body["filesProcessed"]?.int64 == 2, "\(kept)")
      #expect(try await world.client.getProgress(options: options).state?.isCompleted == true)
    }
  }
}

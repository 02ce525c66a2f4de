import Foundation
import PostgreSQL
import RPCClient
import TestParley
import TestSupport

extension OnboardingWorld {
  /// What the object store has of somebody's.
  func blobs(of user: TestUser) -> [String] {
    // Beside each is what its type is.
    ((try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(user.userID)")) ?? []).filter { !$0.hasSuffix(".type") }
  }

  /// Time passes, unless a job is being done.
  func pass(_ time: Duration) async throws {
    let runs: Int64? = try await value("select count(*) from onboarding.job where holder is not null")
    if runs == 0 { parley.clock.advance(by: time) }
  }
}

import EventLoop
import TestSupport
import Testing

extension OnboardingWorld {
  /// How many statements the service sends to its database in a time, by its own count. It needs `ADMIN_LISTEN`.
  func statements(in time: Duration) async throws -> Double {
    let series = "parley_database_queries_total"
    let before = try #require(try await metric(series))
    let end = MonotonicInstant.now().advanced(by: time)
    while MonotonicInstant.now() < end { try await Task.sleep(for: .milliseconds(50)) }
    return try #require(try await metric(series)) - before
  }
}

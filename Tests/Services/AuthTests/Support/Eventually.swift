import TestSupport

/// Asks again and again, with a deadline, until the condition holds.
func eventually(atMost limit: Duration = .seconds(15), _ condition: @escaping @Sendable () async -> Bool) async throws {
  try await within(limit) {
    while !(await condition()) { try await Task.sleep(for: .milliseconds(20)) }
  }
}

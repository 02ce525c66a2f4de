import TestSupport

/// Waits for something that becomes true, looking now and then.
func eventually(
  atMost limit: Duration = .seconds(30), _ condition: @escaping @Sendable () async throws -> Bool
) async throws {
  try await within(limit.withPatience) {
    while try await !condition() { try await Task.sleep(for: .milliseconds(50)) }
  }
}

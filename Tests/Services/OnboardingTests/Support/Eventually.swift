import TestSupport

/// Waits for something that becomes true, looking now and then.
func eventually(_ condition: @escaping @Sendable () async throws -> Bool) async throws {
  try await within(Duration.seconds(30).withPatience) {
    while try await !condition() { try await Task.sleep(for: .milliseconds(50)) }
  }
}

import RPC
import TestSupport

/// Waits for something that becomes true, looking now and then.
func eventually(
  atMost limit: Duration = .seconds(30), _ condition: @escaping @Sendable () async throws -> Bool
) async throws {
  try await within(limit.withPatience) {
    while try await !condition() { try await Task.sleep(for: .milliseconds(50)) }
  }
}

/// Asks again as long as something else of the same person's is being written.
func untilNotBusy<Value>(_ call: () async throws -> Value) async throws -> Value {
  while true {
    do { return try await call() } catch let error as RPCError where error.reason == "BUSY" {}
  }
}

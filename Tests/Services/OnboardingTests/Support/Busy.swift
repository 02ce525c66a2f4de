import RPC

/// Asks again as long as something else of the same person's is being written.
func untilNotBusy<Value>(_ call: () async throws -> Value) async throws -> Value {
  while true {
    do { return try await call() } catch let error as RPCError where error.reason == "BUSY" {}
  }
}

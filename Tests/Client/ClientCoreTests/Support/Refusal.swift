import RPC

/// The error that `body` throws, or nil when it throws none or another kind.
func refusal(_ body: () async throws -> Void) async -> RPCError? {
  do { try await body() } catch { return error as? RPCError }
  return nil
}

import EventLoop

/// Loops for the length of a test.
func withLoops<Value: Sendable>(
  _ count: Int = 2, _ body: @escaping @Sendable (EventLoopGroup) async throws -> Value
) async throws -> Value {
  let group = try EventLoopGroup(count: count, name: "test")
  let result: Result<Value, any Error>
  do { result = .success(try await body(group)) } catch { result = .failure(error) }
  // Joining threads blocks, and the tests' own threads are few.
  let pool = BlockingPool(maximumThreads: 1)
  defer { pool.shutDown() }
  try await pool.run { group.shutDown() }
  return try result.get()
}

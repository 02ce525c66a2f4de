extension Result where Failure == any Error {
  /// What an operation comes to: for what has to be cleaned up after it, however it ends.
  public static func of(_ body: () async throws -> Success) async -> Result {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}

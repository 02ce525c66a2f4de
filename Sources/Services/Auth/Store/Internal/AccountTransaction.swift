internal import EventLoop
internal import PostgreSQL

extension Database {
  /// A transaction that is run again when it loses against another one, and whose errors are the database's.
  ///
  /// - Parameters:
  ///   - patience: How long it may take.
  ///   - body: What is done; throwing rolls it back.
  ///   - refused: The answer in the place of an error of `body`'s own that says no.
  func settle<Value: Sendable>(
    within patience: Duration, _ body: @Sendable (Transaction) async throws -> Value,
    refused: (any Error) -> Value? = { _ in nil }
  ) async throws(DatabaseError) -> Value {
    do {
      return try await transaction(
        retrying: 5, isolation: .readCommitted, deadline: MonotonicInstant.now().advanced(by: patience), body)
    } catch let error as DatabaseError {
      throw error
    } catch is CancellationError {
      throw DatabaseError(.cancelled, "nobody waits for the transaction any more")
    } catch {
      if let answer = refused(error) { return answer }
      throw DatabaseError(.queryFailed, "the transaction failed: \(type(of: error))")
    }
  }
}

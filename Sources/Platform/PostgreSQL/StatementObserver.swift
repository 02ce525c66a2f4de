/// Sees the statements that tasks run: for traces. A database without one pays nothing.
///
/// What it is told holds the text of statements, which is the program's own, and never a parameter.
public protocol StatementObserver: Sendable {
  /// Statements are about to be run together, in the task that waits for them.
  ///
  /// - Returns: Who is told what becomes of them, or nil when nobody is interested.
  func statementsBegin(_ statements: [Query]) -> (any StatementObservation)?
}

/// What becomes of statements that were run together.
public protocol StatementObservation: Sendable {
  /// The task goes on: with their results, or with an error.
  func statementsEnd(_ error: DatabaseError?)
}

extension LoopDatabase {
  /// Runs statements that somebody may be interested in.
  func observed<Value>(
    _ statements: [Query], by observer: any StatementObserver, _ body: () async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    guard let observation = observer.statementsBegin(statements) else { return try await body() }
    do throws(DatabaseError) {
      let value = try await body()
      observation.statementsEnd(nil)
      return value
    } catch {
      observation.statementsEnd(error)
      throw error
    }
  }
}

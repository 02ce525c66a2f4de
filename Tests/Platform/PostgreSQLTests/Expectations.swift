import EventLoop
import PostgreSQL
import Testing

/// The error that `body` throws, which must be one of the database's.
func databaseError(_ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) async -> DatabaseError? {
  do {
    try await body()
    Issue.record("no error was thrown", sourceLocation: sourceLocation)
  } catch let error as DatabaseError {
    return error
  } catch {
    Issue.record("another error was thrown: \(error)", sourceLocation: sourceLocation)
  }
  return nil
}

/// Asks until the answer is yes, for at most ten seconds.
func eventually(
  _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
  let deadline = MonotonicInstant.now().advanced(by: .seconds(10))
  while try await !condition() {
    guard MonotonicInstant.now() < deadline else {
      Issue.record(what, sourceLocation: sourceLocation)
      return
    }
    await Task.yield()
  }
}

/// A deadline some time from now.
func soon(_ duration: Duration) -> MonotonicInstant { .now().advanced(by: duration) }

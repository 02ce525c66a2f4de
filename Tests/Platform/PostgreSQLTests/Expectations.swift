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

/// A deadline some time from now.
func soon(_ duration: Duration) -> MonotonicInstant { .now().advanced(by: duration) }

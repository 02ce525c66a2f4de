internal import EventLoop

/// Does what must be done once it was decided, to its end: also for a caller who stops waiting meanwhile.
///
/// A call that is cancelled takes its statements with it. What has to be on record whatever its caller does (a refusal, the end of a
/// session whose token was stolen) is written here: the body's task is nobody else's, and the calling one waits for it, so that a
/// server which drains waits, too. The body is to have a deadline of its own.
///
/// - Throws: What `body` throws, which knows of no cancellation.
public func uncancelled<Value: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let run = { @Sendable () async -> Result<Value, Failure> in
    do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
  }
  // On the caller's loop, where its connections are.
  let task: Task<Result<Value, Failure>, Never>
  if let loop = EventLoop.current { task = Task(executorPreference: loop, operation: run) } else { task = Task(operation: run) }
  return try await task.value.get()
}

/// Background jobs around the server, as one thing that runs: what began last ends first.
///
/// Each job begins before those that follow it, and all of them before the server. A job is cancelled only when everything that
/// began after it has ended, so jobs work on until the last call is answered. One that fails cancels what began after it, which
/// makes the server drain, and its error ends the whole. Cancelling the whole cancels every part at once.
struct NestedJobs: Sendable {
  private let jobs: ArraySlice<BackgroundJob>

  /// The jobs in the order of their beginning.
  init(_ jobs: [BackgroundJob]) { self.init(jobs[...]) }

  private init(_ jobs: ArraySlice<BackgroundJob>) { self.jobs = jobs }

  /// Runs them until `server` ends.
  ///
  /// - Parameter server: What they surround. When its task is cancelled, it ends by itself and takes the time it needs.
  /// - Throws: The first error, of a job or of `server`. That a job was cancelled is none.
  func run(around server: @escaping @Sendable () async throws -> Void) async throws {
    guard let job = jobs.first else { return try await server() }
    let later = NestedJobs(jobs.dropFirst())
    try await withThrowingTaskGroup(of: Part.self) { parts in
      parts.addTask {
        do { try await job.run() } catch is CancellationError {}
        return .job
      }
      parts.addTask {
        try await later.run(around: server)
        return .later
      }
      // A job may be done with its work long before the server is.
      while let ended = try await parts.next(), ended == .job {}
      parts.cancelAll()
      try await parts.waitForAll()
    }
  }

  private enum Part { case job, later }
}

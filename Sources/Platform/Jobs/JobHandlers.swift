/// What is done with which kind of job. Each part of a service brings its own; they are joined where the worker is made.
public struct JobHandlers: Sendable {
  struct Handler: Sendable {
    let retry: RetryPolicy
    let timeout: Duration
    let run: @Sendable (JobRun) async throws -> Void
  }

  var handlers: [String: Handler] = [:]
  var schedules: [JobSchedule] = []

  /// None.
  public init() {}

  /// All of several. Two for one kind are a programmer's mistake.
  public init(joining parts: [JobHandlers]) {
    for part in parts {
      for schedule in part.schedules { self.schedule(schedule) }
      handlers.merge(part.handlers) { _, _ in preconditionFailure("two handlers for one kind of job") }
    }
  }

  /// The names of the kinds.
  public var kinds: [String] { handlers.keys.sorted() }

  /// Has a job enqueued again and again, by whichever copy has these handlers and comes first.
  ///
  /// - Parameter schedule: When, and which job. Two of one name are a programmer's mistake.
  public mutating func schedule(_ schedule: JobSchedule) {
    precondition(!schedules.contains { $0.name == schedule.name }, "two schedules of one name")
    schedules.append(schedule)
  }

  /// Handles a kind of job.
  ///
  /// - Parameters:
  ///   - kind: The kind. Its retry policy and its timeout hold where the handler runs, its attempts where a job is enqueued.
  ///   - body: Does the work, on one of the worker's loops. It may be run more than once, after a crash or a lost lease, so what
  ///     it does outside the database belongs into a `step` of its ``JobRun``. Returning means that the job is done; see
  ///     ``JobFailure`` for the rest.
  public mutating func handle<Payload>(
    _ kind: JobKind<Payload>, _ body: @escaping @Sendable (Payload, JobRun) async throws -> Void
  ) {
    let decode = kind.decode
    let handler = Handler(retry: kind.retry, timeout: kind.timeout) { run in
      let payload: Payload
      do { payload = try decode(run.payload) } catch {
        throw JobFailure.permanent("the payload (version \(run.version)) cannot be read: \(error)")
      }
      try await body(payload, run)
    }
    let earlier = handlers.updateValue(handler, forKey: kind.name)
    precondition(earlier == nil, "two handlers for one kind of job")
  }
}

/// What a handler throws to say what is to become of its job. Any other error means: try again as the kind's policy says.
public struct JobFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// Whether trying again makes sense.
  public enum Outlook: Sendable, Hashable {
    /// Try again as the policy says, but not before this time has passed.
    case retry(after: Duration?)
    /// The next try would fail like this one: the job is dead at once.
    case permanent
    /// What every job stands on was away: try again soon, but not before this time has passed, and spend no attempt.
    case unavailable(after: Duration?)
    /// It could not begin, for something else goes first: after this pause, and as if it had not been claimed.
    case giveWay(for: Duration)
  }

  /// Whether trying again makes sense.
  public let outlook: Outlook
  /// What happened. It is kept with the job and shown to operators: nothing secret, nobody's words.
  public let message: String

  /// Shown in logs.
  public var description: String { message }

  /// The job may succeed later; with the `Retry-After` of a provider, if it named one.
  public static func retry(after: Duration? = nil, _ message: String) -> JobFailure {
    JobFailure(outlook: .retry(after: after), message: message)
  }

  /// What every job stands on was away: the database, the object store, another service of ours. No attempt is spent, up to
  /// ``RetryPolicy/mostUnspent`` runs; a `DatabaseError` that says so itself needs not be made one of these.
  public static func unavailable(after: Duration? = nil, _ message: String) -> JobFailure {
    JobFailure(outlook: .unavailable(after: after), message: message)
  }

  /// The job could not begin, for something else goes first. No attempt is spent.
  ///
  /// - Parameters:
  ///   - pause: When it is claimed again at the earliest.
  ///   - message: What goes first.
  public static func giveWay(for pause: Duration, _ message: String) -> JobFailure {
    JobFailure(outlook: .giveWay(for: pause), message: message)
  }

  /// The job can never succeed.
  public static func permanent(_ message: String) -> JobFailure { JobFailure(outlook: .permanent, message: message) }
}

/// What the queue throws at a handler, and at whoever enqueues what cannot be.
public struct JobError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure. More kinds may come.
  public struct Code: Sendable, Hashable {
    /// The name, as in logs.
    public let name: String

    /// The run has lost its lease: another one may have the job. Whatever it did in the open transaction is rolled back.
    public static let leaseLost = Code(name: "lease_lost")
    /// The job cannot be enqueued: its payload or its key is too long, or a name is none.
    public static let invalidJob = Code(name: "invalid_job")
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, safe to log.
  public let message: String

  /// Shown in logs.
  public var description: String { "\(code.name): \(message)" }

  static let leaseLost = JobError(code: .leaseLost, message: "the run has lost its lease")
}

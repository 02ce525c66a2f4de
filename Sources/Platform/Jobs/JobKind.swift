public import Values

/// A kind of job: its name, what it carries, and how it is run. Declared once, used by whoever enqueues and by whoever handles.
///
/// ```swift
/// extension AccountJobs {
///   static let delete = JobKind<DeleteAccountOrder>("account.delete", retry: RetryPolicy(attempts: 20))
/// }
/// ```
public struct JobKind<Payload: Sendable>: Sendable {
  /// What the jobs are called in the database, in logs and in metrics: `[a-z][a-z0-9._-]*`, at most 64 characters.
  public let name: String
  /// The version of the payload's form. Handlers see it as ``JobRun/version``; it is for kinds whose payload changes.
  public let version: Int
  /// The queue that its jobs wait in.
  public let queue: String
  /// Who goes first where several wait.
  public let priority: JobPriority
  /// What becomes of runs that fail.
  public let retry: RetryPolicy
  /// How long one run may take before it is cancelled, which counts as a failure.
  public let timeout: Duration
  let encode: @Sendable (Payload) throws -> [UInt8]
  let decode: @Sendable ([UInt8]) throws -> Payload

  /// A kind whose payload is written and read by functions.
  ///
  /// - Parameters:
  ///   - name: See ``name``.
  ///   - version: See ``version``.
  ///   - queue: See ``queue``.
  ///   - priority: See ``priority``.
  ///   - retry: See ``retry``.
  ///   - timeout: See ``timeout``.
  ///   - encode: The bytes of a payload, at most 1 MiB.
  ///   - decode: The payload of bytes. What it throws makes the job dead at once: bytes do not become better.
  public init(
    _ name: String, version: Int = 1, queue: String = JobKind.defaultQueue, priority: JobPriority = .normal,
    retry: RetryPolicy = RetryPolicy(), timeout: Duration = .seconds(300),
    encode: @escaping @Sendable (Payload) throws -> [UInt8], decode: @escaping @Sendable ([UInt8]) throws -> Payload
  ) {
    precondition(JobName.isValid(name) && JobName.isValid(queue), "names of jobs and queues are [a-z][a-z0-9._-]*")
    self.name = name
    self.version = version
    self.queue = queue
    self.priority = priority
    self.retry = retry
    self.timeout = timeout
    self.encode = encode
    self.decode = decode
  }

  /// A job of this kind, to be enqueued.
  ///
  /// - Parameters:
  ///   - payload: What it carries.
  ///   - uniqueKey: At most one live job of the kind has it; empty or nil: any number may.
  ///   - user: Whose it is, if it is somebody's: `JobQueue.forget` finds it by that.
  ///   - notBefore: When it may run at the earliest; nil: at once.
  ///   - priority: In place of the kind's.
  /// - Throws: What the encoding throws.
  public func job(
    _ payload: Payload, uniqueKey: String? = nil, user: UUID? = nil, notBefore: Instant? = nil, priority: JobPriority? = nil
  ) throws -> NewJob {
    NewJob(
      kind: name, version: version, queue: queue, priority: priority ?? self.priority, payload: try encode(payload),
      attempts: retry.attempts, uniqueKey: uniqueKey, user: user, notBefore: notBefore)
  }
}

extension JobKind {
  /// `default`.
  public static var defaultQueue: String { "default" }
}

extension JobKind where Payload == [UInt8] {
  /// A kind whose payload is bytes.
  public init(
    _ name: String, version: Int = 1, queue: String = JobKind.defaultQueue, priority: JobPriority = .normal,
    retry: RetryPolicy = RetryPolicy(), timeout: Duration = .seconds(300)
  ) {
    self.init(
      name, version: version, queue: queue, priority: priority, retry: retry, timeout: timeout, encode: { $0 }, decode: { $0 })
  }
}

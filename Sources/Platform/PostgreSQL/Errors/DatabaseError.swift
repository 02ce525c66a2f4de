public import EventLoop

/// What the database floor throws.
///
/// ``message`` is safe to log: it never holds a parameter, a row or a password. What a caller of the service is told follows
/// from ``category``.
public struct DatabaseError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure. More kinds may come.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name, as in logs and metrics.
    public let name: String
    /// What a caller can do about it.
    public let category: Category

    /// What is shown in logs.
    public var description: String { name }

    /// The connection broke, or none can be made.
    public static let connectionLost = Code(name: "connection_lost", category: .unavailable)
    /// The database has been shut down by its owner in this process.
    public static let closed = Code(name: "closed", category: .unavailable)
    /// All connections are in use and the queue is full, or the wait in it took too long.
    public static let poolExhausted = Code(name: "pool_exhausted", category: .resourceExhausted)
    /// The server is out of memory, disk or another resource.
    public static let outOfResources = Code(name: "out_of_resources", category: .resourceExhausted)
    /// The caller's deadline or the statement timeout passed.
    public static let deadlineExceeded = Code(name: "deadline_exceeded", category: .deadlineExceeded)
    /// The calling task was cancelled.
    public static let cancelled = Code(name: "cancelled", category: .cancelled)
    /// The transaction lost against another one; run again, it may succeed.
    public static let aborted = Code(name: "aborted", category: .aborted)
    /// A unique key is taken; ``DatabaseError/constraint`` names it.
    public static let alreadyExists = Code(name: "already_exists", category: .alreadyExists)
    /// Another constraint refused the row; ``DatabaseError/constraint`` names it.
    public static let constraintViolated = Code(name: "constraint_violated", category: .internal)
    /// A text holds U+0000, which PostgreSQL does not keep: somebody has sent it.
    public static let unstorableText = Code(name: "unstorable_text", category: .invalidArgument)
    /// A write was sent where only reads are allowed.
    public static let readOnly = Code(name: "read_only", category: .internal)
    /// The role lacks a privilege.
    public static let permissionDenied = Code(name: "permission_denied", category: .internal)
    /// The server refused the statement for another reason; ``DatabaseError/sqlState`` says which.
    public static let queryFailed = Code(name: "query_failed", category: .internal)
    /// A column does not hold what the program reads from it.
    public static let decodingFailed = Code(name: "decoding_failed", category: .internal)
    /// A call that the program must not make: a finished transaction used again, a statement where none is possible.
    public static let misuse = Code(name: "misuse", category: .internal)
    /// The connection settings cannot be used.
    public static let invalidConfiguration = Code(name: "invalid_configuration", category: .internal)
    /// The migrations of the program and of the database do not fit together.
    public static let migrationRefused = Code(name: "migration_refused", category: .internal)
  }

  /// What a caller of the service can do about a failure; each maps to one RPC status.
  public enum Category: Sendable, Hashable {
    /// Try again later.
    case unavailable
    /// Run the whole transaction again.
    case aborted
    /// Somebody else has the key.
    case alreadyExists
    /// It took too long.
    case deadlineExceeded
    /// Nobody waits for it any more.
    case cancelled
    /// Too much at once.
    case resourceExhausted
    /// What was sent cannot be kept, whenever it is tried.
    case invalidArgument
    /// A fault of the program or of the set-up.
    case `internal`
  }

  // One pointer wide, so that results stay small on the path that does not fail.
  private final class Storage: Sendable {
    let code: Code
    let message: String
    let sqlState: SQLState?
    let severity: String?
    let constraint: String?
    let mayHaveCommitted: Bool

    init(_ code: Code, _ message: String, _ state: SQLState?, _ severity: String?, _ constraint: String?, _ committed: Bool) {
      self.code = code
      self.message = message
      sqlState = state
      self.severity = severity
      self.constraint = constraint
      mayHaveCommitted = committed
    }
  }

  private let storage: Storage

  /// An error of the given kind; `message` must hold nothing secret.
  public init(
    _ code: Code, _ message: String, sqlState: SQLState? = nil, severity: String? = nil, constraint: String? = nil,
    mayHaveCommitted: Bool = false
  ) {
    storage = Storage(code, message, sqlState, severity, constraint, mayHaveCommitted)
  }

  /// The kind of failure.
  public var code: Code { storage.code }
  /// What a caller can do about it.
  public var category: Category { storage.code.category }
  /// What happened, safe to log, not meant for a caller of the service.
  public var message: String { storage.message }
  /// The server's condition code; nil for what did not come from the server.
  public var sqlState: SQLState? { storage.sqlState }
  /// The server's severity (`ERROR`, `FATAL`, `PANIC`), never localized.
  public var severity: String? { storage.severity }
  /// The name of the constraint that refused the row.
  public var constraint: String? { storage.constraint }
  /// Whether a write was on its way when the connection broke, so that it may or may not have been committed.
  public var mayHaveCommitted: Bool { storage.mayHaveCommitted }

  /// What is shown in logs.
  public var description: String {
    var text = "\(code.name): \(message)"
    if let sqlState { text += " (SQLSTATE \(sqlState))" }
    return text
  }

  func writing(mayHaveCommitted: Bool) -> DatabaseError {
    .init(code, message, sqlState: sqlState, severity: severity, constraint: constraint, mayHaveCommitted: mayHaveCommitted)
  }

  func prefixed(_ prefix: String) -> DatabaseError {
    .init(
      code, prefix + message, sqlState: sqlState, severity: severity, constraint: constraint, mayHaveCommitted: mayHaveCommitted)
  }
}

extension DatabaseError: StoppedLoopReporting {
  /// What a call fails with whose loop has ended.
  public init(stopped error: EventLoopError) { self.init(.closed, error.message) }
}

public import PostgreSQL
public import Values

/// What a job is doing, as an operator sees it.
public enum JobState: String, Sendable, Hashable, CaseIterable {
  /// It may be claimed.
  case ready
  /// It waits for its time.
  case scheduled
  /// A worker has it.
  case running
  /// It is not tried again by itself.
  case dead
  /// No worker has ever handled its kind: it waits for one that does.
  case held
}

/// A job as it is kept, for operators.
public struct StoredJob: Sendable, RowDecodable {
  /// Its identifier.
  public let id: UUID
  /// The name of its kind.
  public let kind: String
  /// The version of the payload's form.
  public let version: Int
  /// The queue that it is in.
  public let queue: String
  /// What it is doing.
  public let state: JobState
  /// Who goes first: 0 before 3.
  public let priority: Int
  /// At most one live job of the kind has it.
  public let uniqueKey: String?
  /// Whose it is.
  public let user: UUID?
  /// The runs so far, those that were given back not counted.
  public let attempt: Int
  /// How many it may have.
  public let maximumAttempts: Int
  /// When it was enqueued.
  public let enqueuedAt: Instant
  /// When it may be claimed, when its lease ends, or when it died.
  public let at: Instant
  /// The worker that has it; empty when none has.
  public let holder: String
  /// What went wrong last; empty when nothing did.
  public let lastError: String
  /// Why it is dead; empty while it is not.
  public let reason: String
  /// How many steps are finished.
  public let steps: Int
  /// How far it is: done, of how much, doing what.
  public let progress: (done: Int, total: Int, note: String)
  /// The length of its payload in bytes.
  public let payloadLength: Int

  /// Reads a row of the administration's statements.
  public init(_ row: Row) throws(DatabaseError) {
    func number(_ column: Int) throws(DatabaseError) -> Int { Int(try row.decode(Int32.self, at: column)) }
    id = try row.decode(at: 0)
    kind = try row.decode(at: 1)
    version = try number(2)
    queue = try row.decode(at: 3)
    state = JobState(rawValue: try row.decode(at: 4)) ?? .ready
    priority = Int(try row.decode(Int16.self, at: 5))
    uniqueKey = try row.decode(at: 6)
    user = try row.decode(at: 7)
    attempt = try number(8)
    maximumAttempts = try number(9)
    enqueuedAt = try row.decode(at: 10)
    at = try row.decode(at: 11)
    holder = try row.decode(at: 12)
    lastError = try row.decode(at: 13)
    reason = try row.decode(at: 14)
    steps = try number(15)
    progress = (try row.decode(at: 16), try row.decode(at: 17), try row.decode(at: 18))
    payloadLength = try number(19)
  }
}

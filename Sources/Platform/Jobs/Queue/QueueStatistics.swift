public import PostgreSQL

/// What a queue holds.
public struct QueueStatistics: Sendable, Hashable, RowDecodable {
  /// Its name.
  public let name: String
  /// Jobs that may be claimed, those with a lease that is over included.
  public let ready: Int
  /// Jobs that wait for their time.
  public let scheduled: Int
  /// Jobs that are leased.
  public let running: Int
  /// Dead jobs.
  public let dead: Int
  /// Since when the oldest of those ready is due.
  public let oldestDueAt: Timestamp?
  /// Whether an operator has paused it.
  public let isPaused: Bool

  init(empty name: String) {
    self.name = name
    (ready, scheduled, running, dead, oldestDueAt, isPaused) = (0, 0, 0, 0, nil, false)
  }

  /// Reads a row of `job_statistics`.
  public init(_ row: Row) throws(DatabaseError) {
    (name, ready, scheduled, running, dead, oldestDueAt, isPaused) = try row.decode()
  }
}

extension JobQueue {
  /// What all queues hold that are not empty or are paused. It counts the whole table.
  public func statistics() async throws(DatabaseError) -> [QueueStatistics] {
    try await database.rows("select * from \(fragment: schema).job_statistics(\(now()))")
  }
}

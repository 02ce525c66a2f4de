public import PostgreSQL
public import Values

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
  /// Jobs of kinds that no worker has ever handled: they wait for one that does.
  public let held: Int
  /// Since when the oldest of those ready is due.
  public let oldestDueAt: Instant?
  /// Whether an operator has paused it.
  public let isPaused: Bool

  init(empty name: String) {
    self.name = name
    (ready, scheduled, running, dead, held, oldestDueAt, isPaused) = (0, 0, 0, 0, 0, nil, false)
  }

  /// Reads a row of `job_statistics`, and how many are held.
  public init(_ row: Row) throws(DatabaseError) {
    (name, ready, scheduled, running, dead, oldestDueAt, isPaused, held) = try row.decode()
  }
}

extension JobQueue {
  /// What all queues hold that are not empty or are paused. It counts the whole table.
  public func statistics() async throws(DatabaseError) -> [QueueStatistics] {
    try await database.rows(
      """
      select s.*, (select coalesce(sum(h.held), 0)::bigint from \(fragment: schema).job_held() h where h.queue = s.queue)
      from \(fragment: schema).job_statistics(\(now())) s
      """)
  }
}

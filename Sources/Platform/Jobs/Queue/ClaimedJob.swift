internal import PostgreSQL
internal import Values

/// A job that this process has just leased.
struct ClaimedJob: RowDecodable, Sendable {
  let id: UUID
  let kind: String
  let version: Int
  let payload: [UInt8]
  let user: UUID?
  let attempt: Int
  let maximumAttempts: Int
  let lease: Int64
  let enqueuedAt: Instant
  /// When it became due, or its last lease ended.
  let dueAt: Instant
  /// How many steps are finished.
  let steps: Int

  init(_ row: Row) throws(DatabaseError) {
    let version: Int32
    let (attempt, maximum, steps): (Int32, Int32, Int32)
    id = try row.decode(at: 0)
    kind = try row.decode(at: 1)
    version = try row.decode(at: 2)
    payload = try row.decode(at: 3)
    user = try row.decode(at: 4)
    attempt = try row.decode(at: 5)
    maximum = try row.decode(at: 6)
    lease = try row.decode(at: 7)
    enqueuedAt = try row.decode(at: 8)
    dueAt = try row.decode(at: 9)
    steps = try row.decode(at: 10)
    self.version = Int(version)
    self.attempt = Int(attempt)
    maximumAttempts = Int(maximum)
    self.steps = Int(steps)
  }
}

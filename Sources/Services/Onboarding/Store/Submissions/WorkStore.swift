public import PostgreSQL

/// Which job works on what a person has sent: one at a time, since they write the same rows and pay for the same parts.
///
/// The work is a run's for as long as that has its lease. So it needs no end: a row says nothing any more once the run is over, however
/// it ended. Whoever looks or takes has the person's lock (``SubmissionStore/lock(_:in:)``).
public struct WorkStore: Sendable {
  /// Works of a database.
  public init() {}

  /// A run of a job.
  public struct Holder: Sendable, Hashable {
    /// The job.
    public var job: UUID
    /// Counts its runs.
    public var lease: Int64

    /// A run of a job.
    public init(job: UUID, lease: Int64) {
      self.job = job
      self.lease = lease
    }
  }

  /// Who took the work last; nil where nobody has.
  public func holder(of user: UUID, in transaction: Transaction) async throws(DatabaseError) -> Holder? {
    let row: (UUID, Int64)? = try await transaction.row("select job_id, run_lease from onboarding.work where user_id = \(user)")
    return row.map { Holder(job: $0.0, lease: $0.1) }
  }

  /// The work is a run's from now on.
  public func take(_ user: UUID, as holder: Holder, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      """
      insert into onboarding.work (user_id, job_id, run_lease) values (\(user), \(holder.job), \(holder.lease))
      on conflict (user_id) do update set job_id = excluded.job_id, run_lease = excluded.run_lease
      """)
  }
}

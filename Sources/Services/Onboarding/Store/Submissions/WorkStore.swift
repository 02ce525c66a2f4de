public import PostgreSQL
public import Values

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

  /// Takes the work for a run, unless the run that took it last goes on: touches one row, or none.
  ///
  /// - Parameters:
  ///   - user: Whose work.
  ///   - holder: The run.
  ///   - isRunning: Whether a run of a job goes on, as a condition: it gets the job and the lease.
  public func take(_ user: UUID, as holder: Holder, unless isRunning: (_ job: Query, _ lease: Query) -> Query) -> Query {
    """
    insert into onboarding.work as known (user_id, job_id, run_lease) values (\(user), \(holder.job), \(holder.lease))
    on conflict (user_id) do update set job_id = excluded.job_id, run_lease = excluded.run_lease
    where known.job_id = excluded.job_id or not \(part: isRunning("known.job_id", "known.run_lease"))
    """
  }
}

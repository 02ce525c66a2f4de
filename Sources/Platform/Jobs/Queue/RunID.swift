internal import Values

/// One run of one job: two runs of a job differ by their lease.
struct RunID: Hashable, Sendable {
  let job: UUID
  let lease: Int64
}

extension JobRun {
  var runID: RunID { RunID(job: id, lease: lease) }
}

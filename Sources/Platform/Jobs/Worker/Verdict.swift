internal import PostgreSQL

/// What becomes of a job whose run failed. Pure.
struct Verdict {
  /// When it is tried again; nil: never.
  let again: Duration?
  /// Why never.
  let reason: String
  /// What is kept of the error.
  let error: String
  /// Whether the run counts among those that the job has. One that failed with what every job stands on does not: its own work was not tried.
  let spendsAttempt: Bool

  init(_ failure: any Error, _ run: JobRun, _ policy: RetryPolicy, isTimeout: Bool, chance: Double) {
    self.init(
      failure, attempt: run.attempt, of: run.maximumAttempts, unspent: run.lease - Int64(run.attempt), policy,
      isTimeout: isTimeout, chance: chance)
  }

  /// - Parameter unspent: How many runs of the job ended without spending an attempt.
  init(
    _ failure: any Error, attempt: Int, of attempts: Int, unspent: Int64 = 0, _ policy: RetryPolicy, isTimeout: Bool,
    chance: Double
  ) {
    let stated = failure as? JobFailure
    error = Self.shortened(isTimeout ? "it took too long" : "\(failure)")
    let outage = isTimeout || attempt > attempts || unspent >= RetryPolicy.mostUnspent ? nil : Self.outage(failure)
    spendsAttempt = outage == nil
    if let outage {
      let pause = RetryPolicy.outage.pause(after: Int(unspent) + 1, retryAfter: outage.retryAfter, chance: chance)
      (again, reason) = (pause, "")
    } else if attempt > attempts {
      (again, reason) = (nil, "crashed")
    } else if stated?.outlook == .permanent {
      (again, reason) = (nil, "permanent")
    } else if attempt >= attempts {
      (again, reason) = (nil, isTimeout ? "timed_out" : "exhausted")
    } else {
      let retryAfter: Duration? =
        switch stated?.outlook {
        case .retry(let after)?, .unavailable(let after)?: after
        case .permanent?, .giveWay?, nil: nil
        }
      (again, reason) = (policy.pause(after: attempt, retryAfter: retryAfter, chance: chance), "")
    }
  }

  /// That what every job stands on was away, with the time before which it is of no use to come back.
  private struct Outage {
    var retryAfter: Duration?
  }

  private static func outage(_ failure: any Error) -> Outage? {
    switch failure {
    case let stated as JobFailure:
      guard case .unavailable(let after) = stated.outlook else { return nil }
      return Outage(retryAfter: after)
    case let error as DatabaseError:
      switch error.category {
      // Away, too slow, too busy, or the loser against another transaction: nothing that the job has done.
      case .unavailable, .deadlineExceeded, .resourceExhausted, .aborted: return Outage()
      case .alreadyExists, .cancelled, .invalidArgument, .internal: return nil
      }
    default: return nil
    }
  }

  /// At most 2,000 characters, none of them NUL, which PostgreSQL does not take.
  private static func shortened(_ text: String) -> String {
    String(text.prefix(2_000).map { $0 == "\0" ? " " : $0 })
  }
}

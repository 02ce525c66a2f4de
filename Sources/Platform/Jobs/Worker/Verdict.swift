/// What becomes of a job whose run failed. Pure.
struct Verdict {
  /// When it is tried again; nil: never.
  let again: Duration?
  /// Why never.
  let reason: String
  /// What is kept of the error.
  let error: String

  init(_ failure: any Error, _ run: JobRun, _ policy: RetryPolicy, isTimeout: Bool, chance: Double) {
    self.init(failure, attempt: run.attempt, of: run.maximumAttempts, policy, isTimeout: isTimeout, chance: chance)
  }

  init(
    _ failure: any Error, attempt: Int, of attempts: Int, _ policy: RetryPolicy, isTimeout: Bool, chance: Double
  ) {
    let stated = failure as? JobFailure
    error = Self.shortened(isTimeout ? "it took too long" : "\(failure)")
    if attempt > attempts {
      (again, reason) = (nil, "crashed")
    } else if stated?.outlook == .permanent {
      (again, reason) = (nil, "permanent")
    } else if attempt >= attempts {
      (again, reason) = (nil, isTimeout ? "timed_out" : "exhausted")
    } else {
      var retryAfter: Duration?
      if case .retry(let after)? = stated?.outlook { retryAfter = after }
      (again, reason) = (policy.pause(after: attempt, retryAfter: retryAfter, chance: chance), "")
    }
  }

  /// At most 2,000 characters, none of them NUL, which PostgreSQL does not take.
  private static func shortened(_ text: String) -> String {
    String(text.prefix(2_000).map { $0 == "\0" ? " " : $0 })
  }
}

import PostgreSQL
import Testing

@testable import Jobs

@Suite("Retry policies")
struct RetryPolicyTests {
  private let policy = RetryPolicy(
    attempts: 5, firstPause: .seconds(2), longestPause: .seconds(60), longestRetryAfter: .seconds(3600))

  @Test(
    "JOB-M5: the ceiling of the pause doubles up to the longest",
    arguments: zip([0, 1, 2, 3, 4, 5, 6, 7, 1_000_000], [2, 2, 4, 8, 16, 32, 60, 60, 60]))
  func ceiling(attempt: Int, seconds: Int) {
    #expect(policy.ceiling(after: attempt) == .seconds(seconds))
  }

  @Test("JOB-M5: the jitter is full: from nothing to the ceiling, in proportion to the chance")
  func jitter() {
    #expect(policy.pause(after: 3, chance: 0) == .zero)
    #expect(policy.pause(after: 3, chance: 0.5) == .seconds(4))
    #expect(policy.pause(after: 3, chance: 0.999) < .seconds(8))
    #expect(policy.pause(after: 3, chance: 7) == .seconds(8))
    #expect(policy.pause(after: 3, chance: -1) == .zero)
  }

  @Test("JOB-M5: a Retry-After is never undercut, spread by the first pause at most, and believed up to its limit")
  func retryAfter() {
    #expect(policy.pause(after: 1, retryAfter: .seconds(100), chance: 0) == .seconds(100))
    #expect(policy.pause(after: 4, retryAfter: .seconds(100), chance: 0.5) == .seconds(101))
    #expect(policy.pause(after: 1, retryAfter: .seconds(3600), chance: 0) == .seconds(3600))
    #expect(policy.pause(after: 1, retryAfter: .seconds(3601), chance: 0) == .seconds(3600))
    #expect(policy.pause(after: 1, retryAfter: .seconds(-5), chance: 0) == .zero)
  }

  @Test("A policy tries at least once and has no negative pause")
  func bounds() {
    let odd = RetryPolicy(attempts: 0, firstPause: .seconds(-1), longestPause: .seconds(-2))
    #expect(odd.attempts == 1)
    #expect(odd.pause(after: 10, chance: 1) == .zero)
    #expect(RetryPolicy.never.attempts == 1)
  }

  private struct Other: Error {}

  @Test("JOB-M5: permanent failures and the last attempt are the end, with the reason; anything else waits")
  func verdicts() {
    func verdict(_ error: any Error, _ attempt: Int, isTimeout: Bool = false) -> Verdict {
      Verdict(error, attempt: attempt, of: 3, policy, isTimeout: isTimeout, chance: 0.5)
    }
    #expect(verdict(Other(), 1).again == .seconds(1))
    #expect(verdict(Other(), 2).again == .seconds(2))
    #expect(verdict(Other(), 3).again == nil && verdict(Other(), 3).reason == "exhausted")
    #expect(verdict(JobFailure.permanent("no such person"), 1).again == nil)
    #expect(verdict(JobFailure.permanent("no such person"), 1).reason == "permanent")
    #expect(verdict(JobFailure.permanent("no such person"), 1).error == "no such person")
    #expect(verdict(JobFailure.retry(after: .seconds(30), "busy"), 1).again == .seconds(31))
    #expect(verdict(JobFailure.retry(after: .seconds(30), "busy"), 3).again == nil)
    #expect(verdict(JobFailure.retry("busy"), 2).again == .seconds(2))
    #expect(verdict(CancellationError(), 1, isTimeout: true).again == .seconds(1))
    #expect(verdict(CancellationError(), 3, isTimeout: true).reason == "timed_out")
    #expect(verdict(Other(), 4).reason == "crashed")
    #expect(verdict(JobFailure.retry(String(repeating: "x", count: 5_000) + "\0"), 1).error.count == 2_000)
    #expect(verdict(JobFailure.retry("a\0b"), 1).error == "a b")
  }

  @Test(
    "JOB-M5: a failure of what every job stands on spends no attempt, up to a number of runs that ends the worst of them (OF-06)")
  func outages() {
    func verdict(_ error: any Error, _ attempt: Int, unspent: Int64 = 0, isTimeout: Bool = false) -> Verdict {
      Verdict(error, attempt: attempt, of: 3, unspent: unspent, policy, isTimeout: isTimeout, chance: 0.5)
    }
    let codes: [DatabaseError.Code] = [
      .connectionLost, .closed, .poolExhausted, .outOfResources, .deadlineExceeded, .aborted,
    ]
    for code in codes {
      let error = DatabaseError(code, "away")
      for attempt in 1...3 {
        let away = verdict(error, attempt)
        #expect(!away.spendsAttempt && away.again == .milliseconds(500) && away.error == "\(error)", "\(code) \(attempt)")
      }
    }
    let codesOfItsOwn: [DatabaseError.Code] = [
      .cancelled, .alreadyExists, .constraintViolated, .readOnly, .permissionDenied, .queryFailed, .decodingFailed, .misuse,
    ]
    for code in codesOfItsOwn {
      let error = DatabaseError(code, "a defect")
      #expect(verdict(error, 1).spendsAttempt && verdict(error, 3).reason == "exhausted", "\(code)")
    }
    // Slower and slower, but half a minute at most.
    let away = DatabaseError(.connectionLost, "away")
    #expect(verdict(away, 1, unspent: 3).again == .seconds(4))
    #expect(verdict(away, 1, unspent: 999).again == .seconds(15))
    #expect(verdict(JobFailure.unavailable(after: .seconds(20), "the store"), 3).again == .milliseconds(20_500))
    #expect(!verdict(JobFailure.unavailable("the store"), 3).spendsAttempt)
    // One that brings down what it stands on comes to an end.
    #expect(verdict(away, 1, unspent: 1_000).spendsAttempt && verdict(away, 1, unspent: 1_000).again == .seconds(1))
    #expect(verdict(away, 3, unspent: 1_000).reason == "exhausted")
    #expect(verdict(JobFailure.unavailable(after: .seconds(30), "x"), 1, unspent: 1_000).again == .seconds(31))
    #expect(verdict(away, 4).reason == "crashed")
    #expect(verdict(away, 3, isTimeout: true).reason == "timed_out")
  }
}

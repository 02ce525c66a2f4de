/// When and how soon a request is tried again.
///
/// Only requests that may be repeated are (``HTTPRequest/mayBeRepeated`` or an idempotent method), and never past their
/// deadline. The wait is drawn evenly from zero to `base * 2^(attempt - 1)`, at most ``maximumDelay`` (full jitter), so that
/// clients that failed together do not come back together. A `Retry-After` is the least wait; one above
/// ``maximumRetryAfter`` ends the attempts, and the response is returned as it is.
public struct RetryPolicy: Sendable, Hashable {
  /// How many times the request is sent at most, the first time included.
  public var attempts: Int
  /// The upper end of the first wait.
  public var baseDelay: Duration
  /// The upper end of any wait that the peer did not ask for.
  public var maximumDelay: Duration
  /// The longest `Retry-After` that is waited for.
  public var maximumRetryAfter: Duration
  /// The statuses after which to try again.
  public var statuses: Set<Int>
  /// How long one attempt may take; nil for all the time that is left.
  public var attemptTimeout: Duration?

  /// One attempt.
  public static let never = RetryPolicy(attempts: 1)

  /// Up to three attempts within a second or so, for requests that somebody waits for.
  public static let interactive = RetryPolicy(attempts: 3)

  /// A policy of so many attempts.
  public init(
    attempts: Int, baseDelay: Duration = .milliseconds(100), maximumDelay: Duration = .seconds(5),
    maximumRetryAfter: Duration = .seconds(10), statuses: Set<Int> = [429, 502, 503, 504], attemptTimeout: Duration? = nil
  ) {
    self.attempts = attempts
    self.baseDelay = baseDelay
    self.maximumDelay = maximumDelay
    self.maximumRetryAfter = maximumRetryAfter
    self.statuses = statuses
    self.attemptTimeout = attemptTimeout
  }

  /// How long to wait before the attempt after `attempt`, or nil when that was the last.
  ///
  /// - Parameters: `attempt` counts from 1; `jitter` is in 0..<1; `unixSeconds` is the wall clock, for a `Retry-After` that is a date.
  func delay(
    after outcome: Result<HTTPResponse, OutboundError>, attempt: Int, jitter: Double, unixSeconds: Int64
  ) -> Duration? {
    guard attempt < attempts else { return nil }
    let backoff = min(maximumDelay, baseDelay * Double(UInt64(1) << UInt64(min(attempt - 1, 30)))) * jitter
    switch outcome {
    case .success(let response):
      guard statuses.contains(response.status) else { return nil }
      guard let asked = response.headers["retry-after"].flatMap({ RetryAfter.delay(of: $0, unixSeconds: unixSeconds) }) else {
        return backoff
      }
      return asked <= maximumRetryAfter ? max(asked, backoff) : nil
    case .failure(let error):
      return error.mayPass ? backoff : nil
    }
  }
}

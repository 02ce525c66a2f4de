internal import Synchronization

/// The tokens of one channel that bound how much it retries, shared by its loops: gRFC A6.
///
/// Counted in thousandths, so that what it says is exact.
final class RetryThrottle: Sendable {
  private let maximum: Int
  private let perSuccess: Int
  private let tokens: Mutex<Int>

  init(_ throttling: RetryThrottling) {
    maximum = throttling.maximumTokens * 1_000
    perSuccess = throttling.thousandthsPerSuccess
    tokens = Mutex(throttling.maximumTokens * 1_000)
  }

  /// Notes a failure that counts.
  ///
  /// - Returns: Whether there may be another attempt: more than half of the tokens are left.
  func failed() -> Bool {
    tokens.withLock { tokens in
      tokens = max(0, tokens - 1_000)
      return tokens > maximum / 2
    }
  }

  /// Notes a call that succeeded.
  func succeeded() { tokens.withLock { $0 = min(maximum, $0 + perSuccess) } }
}

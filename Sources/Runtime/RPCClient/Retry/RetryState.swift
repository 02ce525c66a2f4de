internal import RPC

/// Decides, after each failed attempt of one call, whether there is another one and when: gRFC A6.
///
/// Attempts that the server has certainly not begun are repeated without a policy and are not counted (transparent retry): those
/// that never left this side as often as it takes, those that the server refused once.
struct RetryState {
  /// How far an attempt came before it failed.
  enum Reach: Sendable, Hashable {
    /// Nothing of it has left this side.
    case neverSent
    /// The server said that it has not looked at it: REFUSED_STREAM, or a stream above the last of a GOAWAY.
    case refused
    /// The server may have begun it; nothing but its status has come.
    case processed
    /// Its headers have come: its messages are on their way to the caller, who cannot unsee them.
    case committed
  }

  enum Verdict: Sendable, Hashable {
    case fail
    case again(after: Duration)
  }

  /// The longest wait for a connection that takes the call, when one after the other does not: fast enough for a caller not to
  /// notice once, slow enough not to spin.
  private static let pauseAfterNeverSent = Duration.milliseconds(10)

  private let policy: RetryPolicy?
  private let throttle: RetryThrottle?
  private let random: @Sendable (ClosedRange<Double>) -> Double
  /// Attempts before the current one that a server may have seen; what `grpc-previous-rpc-attempts` says.
  private(set) var previousAttempts = 0
  private var isRefusalSpent = false
  private var neverSent = 0
  /// Retries since the last wait that the server chose: the backoff starts anew after it.
  private var backoffs = 0

  init(
    _ policy: RetryPolicy?, _ throttle: RetryThrottle?,
    random: @escaping @Sendable (ClosedRange<Double>) -> Double = { Double.random(in: $0) }
  ) {
    self.policy = policy
    self.throttle = throttle
    self.random = random
  }

  /// Whether an attempt that was processed and failed might be repeated: until then what was sent must be kept.
  var mayRetry: Bool { policy.map { previousAttempts + 1 < $0.maximumAttempts } ?? false }

  /// Notes that the call succeeded.
  func succeeded() { throttle?.succeeded() }

  /// Judges a failed attempt.
  mutating func failed(_ code: StatusCode, _ pushback: RetryPushback, _ reach: Reach) -> Verdict {
    switch reach {
    case .neverSent:
      neverSent += 1
      return .again(after: neverSent == 1 ? .zero : Self.pauseAfterNeverSent)
    case .refused where !isRefusalSpent:
      isRefusalSpent = true
      return .again(after: .zero)
    case .refused, .processed: return judge(code, pushback)
    case .committed: return .fail
    }
  }

  private mutating func judge(_ code: StatusCode, _ pushback: RetryPushback) -> Verdict {
    guard let policy else { return .fail }
    guard policy.retryableCodes.contains(code) || pushback == .stop else { return .fail }
    let isLetThrough = throttle?.failed() ?? true
    guard policy.retryableCodes.contains(code), pushback != .stop, isLetThrough else { return .fail }
    guard previousAttempts + 1 < policy.maximumAttempts else { return .fail }
    previousAttempts += 1
    if case .after(let wait) = pushback {
      backoffs = 0
      return .again(after: wait)
    }
    backoffs += 1
    return .again(after: delay(policy))
  }

  private func delay(_ policy: RetryPolicy) -> Duration {
    let most = policy.maximumBackoff / .seconds(1)
    var seconds = min(policy.initialBackoff / .seconds(1), most)
    for _ in 1..<max(backoffs, 1) { seconds = min(seconds * policy.backoffMultiplier, most) }
    return .seconds(seconds * random(0.8...1.2))
  }
}

public import EventLoop

/// Whether a host that keeps failing is still tried: a pure state machine, one for each host.
///
/// Closed: requests pass, failures in a row are counted. Open: requests fail at once until the pause is over. Half-open: one
/// request at a time passes as a probe; its success closes the circuit, its failure opens it again for twice as long.
public struct CircuitBreaker: Sendable {
  /// When a circuit opens and for how long.
  public struct Thresholds: Sendable, Hashable {
    /// So many failures in a row open it.
    public var failures = 5
    /// How long it stays open the first time; each failed probe doubles it.
    public var pause = Duration.seconds(5)
    /// The longest pause.
    public var maximumPause = Duration.seconds(60)
    /// The statuses that count as the host's failure. 429 is none: the host is there and says what it wants.
    public var failureStatuses: Set<Int> = [500, 502, 503, 504]
    /// A timeout counts as the host's failure only when the attempt was given at least so long: callers in a hurry must not
    /// shut a slow but healthy host for everybody.
    public var countedTimeout = Duration.seconds(1)

    /// The defaults: five failures in a row, 5 s doubling to 60 s.
    public init() {}
  }

  /// What one request told about the host.
  public enum Outcome: Sendable, Hashable {
    /// The host answered.
    case success
    /// The host could not be reached, or answered that it is broken.
    case failure
    /// Nothing: the request was cancelled.
    case unknown
  }

  /// Where the circuit stands.
  public enum State: Sendable, Hashable {
    /// Requests pass.
    case closed
    /// Requests fail until then.
    case open(until: MonotonicInstant)
    /// A probe is under way.
    case probing
  }

  /// Where the circuit stands.
  public private(set) var state = State.closed
  private let thresholds: Thresholds
  private var failuresInARow = 0
  private var pause: Duration

  /// A closed circuit.
  public init(_ thresholds: Thresholds) {
    self.thresholds = thresholds
    pause = thresholds.pause
  }

  /// Asks to send a request. Every nil (it may be sent) must be followed by one ``record(_:now:)``.
  ///
  /// - Returns: nil, or how long to wait before asking again.
  public mutating func admit(now: MonotonicInstant) -> Duration? {
    switch state {
    case .closed: return nil
    case .open(let end) where now < end: return end.duration(since: now)
    case .open:
      state = .probing
      return nil
    case .probing: return thresholds.pause
    }
  }

  /// Takes note of how an admitted request ended.
  ///
  /// - Returns: Whether this opened the circuit.
  @discardableResult
  public mutating func record(_ outcome: Outcome, now: MonotonicInstant) -> Bool {
    switch (state, outcome) {
    case (.closed, .failure):
      failuresInARow += 1
      guard failuresInARow >= thresholds.failures else { return false }
      state = .open(until: now.advanced(by: pause))
      return true
    case (.probing, .failure):
      pause = min(pause * 2, thresholds.maximumPause)
      state = .open(until: now.advanced(by: pause))
      return true
    case (.closed, .success), (.probing, .success):
      state = .closed
      failuresInARow = 0
      pause = thresholds.pause
    case (.probing, .unknown):
      state = .open(until: now)
    case (.open, _), (.closed, .unknown):
      // A request that was sent before the circuit opened says nothing new.
      break
    }
    return false
  }
}

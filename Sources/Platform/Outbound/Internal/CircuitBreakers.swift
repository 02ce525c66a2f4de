internal import EventLoop
internal import Synchronization

/// The circuits of all hosts that a client talks to, shared by its loops: two short lock-holds for each request.
///
/// Hosts are few, since URLs come from configuration. Should they not be, circuits beyond ``limit`` are not kept.
final class CircuitBreakers: Sendable {
  private let thresholds: CircuitBreaker.Thresholds
  private let circuits = Mutex<[String: CircuitBreaker]>([:])
  private static let limit = 1_024

  init(_ thresholds: CircuitBreaker.Thresholds) { self.thresholds = thresholds }

  func admit(_ origin: String, now: MonotonicInstant) -> Duration? {
    circuits.withLock { $0[origin]?.admit(now: now) ?? nil }
  }

  /// - Returns: Whether the circuit opened.
  func record(
    _ result: Result<HTTPResponse, OutboundError>, of origin: String, limit: Duration, now: MonotonicInstant
  ) -> Bool {
    let outcome = outcome(of: result, limit: limit)
    return circuits.withLock { circuits in
      if circuits[origin] == nil {
        // A host without a circuit is one that has not failed.
        guard outcome == .failure, circuits.count < Self.limit else { return false }
        circuits[origin] = CircuitBreaker(thresholds)
      }
      return circuits[origin]?.record(outcome, now: now) ?? false
    }
  }

  private func outcome(of result: Result<HTTPResponse, OutboundError>, limit: Duration) -> CircuitBreaker.Outcome {
    switch result {
    case .success(let response): return thresholds.failureStatuses.contains(response.status) ? .failure : .success
    case .failure(let error):
      switch error.code {
      case .connectFailed, .tlsFailed, .connectionLost, .malformedResponse: return .failure
      case .timeout: return limit >= thresholds.countedTimeout ? .failure : .unknown
      case .responseTooLarge, .tooManyRedirects: return .success
      default: return .unknown
      }
    }
  }
}

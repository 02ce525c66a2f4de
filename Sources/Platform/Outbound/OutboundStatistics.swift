internal import Synchronization

/// What a client has done since it was made.
public struct OutboundStatistics: Sendable, Hashable {
  /// Attempts that were handed to libcurl.
  public let attempts: Int
  /// Attempts that ended with a response, whatever its status.
  public let responses: Int
  /// Attempts that ended without one.
  public let failures: Int
  /// Attempts after the first of a request.
  public let retries: Int
  /// Requests that an open circuit refused.
  public let refusedByCircuit: Int
  /// How often a circuit opened.
  public let circuitsOpened: Int
  /// Connections that were opened.
  public let connections: Int
  /// Bytes of response bodies.
  public let bytesReceived: Int
  /// Attempts under way now.
  public let inFlight: Int
}

/// The counters behind ``OutboundStatistics``, added to from all loops.
final class OutboundCounters: Sendable {
  let attempts = Atomic(0)
  let responses = Atomic(0)
  let failures = Atomic(0)
  let retries = Atomic(0)
  let refusedByCircuit = Atomic(0)
  let circuitsOpened = Atomic(0)
  let connections = Atomic(0)
  let bytesReceived = Atomic(0)

  func snapshot() -> OutboundStatistics {
    let (responses, failures) = (responses.load(ordering: .relaxed), failures.load(ordering: .relaxed))
    let attempts = attempts.load(ordering: .relaxed)
    return .init(
      attempts: attempts, responses: responses, failures: failures, retries: retries.load(ordering: .relaxed),
      refusedByCircuit: refusedByCircuit.load(ordering: .relaxed), circuitsOpened: circuitsOpened.load(ordering: .relaxed),
      connections: connections.load(ordering: .relaxed), bytesReceived: bytesReceived.load(ordering: .relaxed),
      inFlight: max(0, attempts - responses - failures))
  }
}

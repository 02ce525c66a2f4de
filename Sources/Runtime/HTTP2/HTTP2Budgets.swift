public import EventLoop

/// What all connections of a process may hold together, whatever their number.
public struct HTTP2Budgets: Sendable {
  /// Bytes of responses that wait for their peers.
  public let responses: SharedBudget
  /// Bytes of requests that wait for the rest of them, or for their handlers.
  public let requests: SharedBudget
  private static let chunk = 256 << 10

  /// Budgets of which nothing is used.
  public init(_ limits: HTTP2Limits) {
    responses = SharedBudget(limit: limits.processResponseBytes, chunk: Self.chunk)
    requests = SharedBudget(limit: limits.processRequestBytes, chunk: Self.chunk)
  }
}

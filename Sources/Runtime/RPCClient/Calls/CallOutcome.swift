internal import RPC

/// How one attempt of a call ended.
struct CallOutcome: Sendable {
  /// Why it failed; nil when it succeeded.
  var error: RPCError?
  /// What came with the status.
  var trailingMetadata = Metadata()
  /// How far the attempt came: whether another one may follow. What this side has decided itself counts as final.
  var reach = RetryState.Reach.committed
  /// What the server says about another attempt.
  var pushback = RetryPushback.none

  static func failure(_ error: RPCError, _ reach: RetryState.Reach = .committed) -> CallOutcome {
    CallOutcome(error: error, trailingMetadata: error.metadata, reach: reach)
  }

  /// The server has certainly not begun the call, so that another attempt cannot do anything twice.
  static func unprocessed(_ message: String, _ reach: RetryState.Reach) -> CallOutcome {
    CallOutcome(error: RPCError(.unavailable, message), reach: reach)
  }
}

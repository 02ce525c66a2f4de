internal import RPC

/// How one attempt of a call ended.
struct CallOutcome: Sendable {
  /// Why it failed; nil when it succeeded.
  var error: RPCError?
  /// What came with the status.
  var trailingMetadata = Metadata()
  /// Whether the server has certainly not begun the call, so that another attempt cannot do anything twice.
  var isUnprocessed = false

  static func failure(_ error: RPCError) -> CallOutcome { CallOutcome(error: error, trailingMetadata: error.metadata) }

  static func unprocessed(_ message: String) -> CallOutcome {
    CallOutcome(error: RPCError(.unavailable, message), isUnprocessed: true)
  }
}

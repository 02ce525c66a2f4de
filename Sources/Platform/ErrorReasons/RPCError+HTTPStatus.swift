public import RPC

extension RPCError {
  /// The HTTP status of the code, refined by the reason where HTTP has a status of its own for it.
  ///
  /// One table for services, which answer plain HTTP with it, and for clients, which tell their callers a status whatever protocol
  /// the error came by. Connect has a table of its own for the responses that carry its errors: there the code counts, not the status.
  public var httpStatus: Int {
    switch code {
    case .invalidArgument where reason?.hasSuffix("_TOO_LARGE") == true: 413
    case .resourceExhausted where reason == "REQUEST_TOO_LARGE": 413
    case .failedPrecondition where reason == "SUBSCRIPTION_REQUIRED": 402
    case .failedPrecondition where reason == "CAPABILITY_STOPPED" || reason == "CALLER_STOPPED": 403
    // That of the first app, which took it for a fault of the server's.
    case .unavailable where reason == "ENTITLEMENT_UNAVAILABLE": 500
    default: code.httpStatus
    }
  }
}

internal import Outbound
internal import PostgreSQL
public import RPC

/// What a caller is told of errors that come from the floors below: the one place that maps them to RPC codes and reasons.
public enum ErrorMap {
  /// The domain of every reason.
  public static let domain = "parley"

  /// The error for the caller; nil when it is a defect that only the log may know.
  public static func rpcError(for error: any Error) -> RPCError? {
    switch error {
    case let error as RPCError: error
    case let error as DatabaseError: rpcError(for: error)
    case let error as OutboundError: rpcError(for: error)
    case is CancellationError: RPCError(.cancelled, "the call was cancelled")
    default: nil
    }
  }

  private static func rpcError(for error: DatabaseError) -> RPCError? {
    switch error.category {
    case .unavailable: make(.unavailable, "the database is not available", "DATABASE_UNAVAILABLE", .seconds(1), error)
    case .resourceExhausted: make(.resourceExhausted, "the database is busy", "DATABASE_BUSY", .seconds(1), error)
    case .deadlineExceeded: make(.deadlineExceeded, "the database took too long", "DATABASE_TIMEOUT", nil, error)
    case .aborted: make(.aborted, "lost against another change, try again", "CONFLICT", nil, error)
    case .alreadyExists: make(.alreadyExists, "it exists already", "ALREADY_EXISTS", nil, error)
    case .invalidArgument: make(.invalidArgument, "a text holds U+0000, which cannot be kept", "UNSTORABLE_TEXT", nil, error)
    case .cancelled: RPCError(.cancelled, "the call was cancelled", cause: error)
    case .internal: nil
    }
  }

  private static func rpcError(for error: OutboundError) -> RPCError? {
    switch error.code {
    case .connectFailed, .connectionLost, .tlsFailed, .circuitOpen, .transportFailed, .malformedResponse:
      make(.unavailable, "a provider is not available", "UPSTREAM_UNAVAILABLE", error.retryAfter ?? .seconds(1), error)
    case .timeout: make(.unavailable, "a provider took too long", "UPSTREAM_TIMEOUT", error.retryAfter ?? .seconds(1), error)
    case .cancelled: RPCError(.cancelled, "the call was cancelled", cause: error)
    // The URL, the request or the size: a fault of the program or of its settings.
    default: nil
    }
  }

  private static func make(
    _ code: StatusCode, _ message: String, _ reason: String, _ retryAfter: Duration?, _ cause: any Error
  ) -> RPCError {
    var details: [ErrorDetail] = [.errorInfo(reason: reason, domain: domain, metadata: [:])]
    if let retryAfter { details.append(.retryInfo(retryAfter)) }
    return RPCError(code, message, details: details, cause: cause)
  }
}

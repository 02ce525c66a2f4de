internal import AuthDomain
internal import RPC

extension BillingRefusal {
  /// The domain of billing's reason codes.
  static let domain = "parley.billing.v1"

  /// The refusal as it is sent.
  var rpcError: RPCError {
    var details: [ErrorDetail] = []
    if kind != .cancelled { details.append(.errorInfo(reason: kind.reason, domain: Self.domain, metadata: [:])) }
    if let wait = retryAfter ?? (kind.code == .unavailable ? .seconds(1) : nil) { details.append(.retryInfo(wait)) }
    if kind == .invalidArgument { details.append(.badRequest([.init(field: field, description: detail)])) }
    return RPCError(kind.code, kind.text, details: details, cause: self)
  }

  /// The status of the first app's HTTP paths: both of a customer's conflicts are 409, and a source that fails is 500.
  var httpStatus: Int {
    switch kind {
    case .unavailable, .busy: 500
    case .limited: 429
    case .limiterUnavailable: 503
    case .linkedElsewhere, .notVerified: 409
    case .invalidArgument: 400
    case .cancelled: 499
    }
  }
}

extension BillingRefusal.Kind {
  var code: StatusCode {
    switch self {
    case .unavailable, .busy, .limiterUnavailable: .unavailable
    case .limited: .resourceExhausted
    case .linkedElsewhere: .alreadyExists
    case .notVerified: .failedPrecondition
    case .invalidArgument: .invalidArgument
    case .cancelled: .cancelled
    }
  }

  /// The names of `parley.billing.v1.ErrorReason` without their prefix.
  var reason: String {
    switch self {
    case .unavailable, .busy: "ENTITLEMENT_UNAVAILABLE"
    case .linkedElsewhere: "CUSTOMER_LINKED_ELSEWHERE"
    case .notVerified: "CUSTOMER_NOT_VERIFIED"
    case .limited: "RATE_LIMITED_USER"
    case .limiterUnavailable: "LIMITER_UNAVAILABLE"
    case .invalidArgument: "INVALID_ARGUMENT"
    case .cancelled: "CANCELLED"
    }
  }

  /// What the caller is told.
  var text: String {
    switch self {
    case .unavailable, .busy: "cannot tell whether there is a subscription"
    case .linkedElsewhere: "the customer belongs to another account"
    case .notVerified: "RevenueCat does not name this account among the customer's aliases"
    case .limited: "rate limit (user)"
    case .limiterUnavailable: "rate limiter unavailable"
    case .invalidArgument: "invalid argument"
    case .cancelled: "cancelled"
    }
  }
}

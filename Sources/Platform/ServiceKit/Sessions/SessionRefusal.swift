internal import RPC

/// Why a call with a session, or without one, is refused: code, text and reason, the same everywhere.
enum SessionRefusal: Hashable, Sendable {
  case missingAuthorization
  case invalidToken
  case expiredToken
  case ended(SessionEnding)
  case keysUnavailable
  case revocationsUnavailable
  case notYourOwn
  case subscriptionRequired
  case entitlementUnavailable

  var code: StatusCode {
    switch self {
    case .missingAuthorization, .invalidToken, .expiredToken, .ended: .unauthenticated
    case .keysUnavailable, .revocationsUnavailable, .entitlementUnavailable: .unavailable
    case .notYourOwn: .permissionDenied
    case .subscriptionRequired: .failedPrecondition
    }
  }

  var reason: String {
    switch self {
    case .missingAuthorization: "MISSING_AUTHORIZATION"
    case .invalidToken: "INVALID_ACCESS_TOKEN"
    case .expiredToken: "ACCESS_TOKEN_EXPIRED"
    case .ended(let ending): ending.reason
    case .keysUnavailable: "KEYS_UNAVAILABLE"
    case .revocationsUnavailable: "REVOCATIONS_UNAVAILABLE"
    case .notYourOwn: "NOT_YOUR_OWN"
    case .subscriptionRequired: "SUBSCRIPTION_REQUIRED"
    case .entitlementUnavailable: "ENTITLEMENT_UNAVAILABLE"
    }
  }

  private var text: String {
    switch self {
    case .missingAuthorization: "missing or invalid authorization metadata"
    case .invalidToken: "invalid access token"
    case .expiredToken: "the access token has expired"
    case .ended(let ending): ending.text
    case .keysUnavailable: "keys unavailable"
    case .revocationsUnavailable: "cannot tell whether the session is alive"
    case .notYourOwn: "not the caller's own"
    case .subscriptionRequired: "subscription required"
    case .entitlementUnavailable: "cannot tell whether there is a subscription"
    }
  }

  private var domain: String {
    switch self {
    case .subscriptionRequired, .entitlementUnavailable: "parley.billing.v1"
    default: "parley.auth.v1"
    }
  }

  private var hints: [String: String] {
    self == .subscriptionRequired ? ["requiresSubscription": "true", "redirectToPaywall": "true"] : [:]
  }

  var rpcError: RPCError { rpcError(cause: nil) }

  /// The refusal as it is sent; `cause` is for the log alone.
  func rpcError(cause: (any Error)?) -> RPCError {
    var details: [ErrorDetail] = [.errorInfo(reason: reason, domain: domain, metadata: hints)]
    if code == .unavailable { details.append(.retryInfo(.seconds(1))) }
    return RPCError(code, text, details: details, cause: cause)
  }
}

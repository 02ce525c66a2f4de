internal import AuthDomain
internal import RPC
internal import ServiceKit

extension Refusal {
  /// The domain of the broker's reason codes.
  static let domain = "parley.broker.v1"

  /// The refusal as both gRPC and HTTP send it.
  var rpcError: RPCError {
    var details: [ErrorDetail] = [.errorInfo(reason: kind.reason, domain: Self.domain, metadata: [:])]
    var metadata = Metadata()
    if let retryAfter {
      details.append(.retryInfo(.seconds(retryAfter)))
      metadata.append("retry-after", "\(retryAfter)")
      if let limit { metadata.append(contentsOf: RateLimitFields(refusedFor: retryAfter, by: limit).metadata) }
    } else if kind.code == .unavailable {
      details.append(.retryInfo(.seconds(1)))
    }
    return RPCError(kind.code, kind.text, details: details, metadata: metadata, cause: self)
  }
}

extension RateLimitFields {
  init(refusedFor seconds: Int64, by limit: RateLimit) {
    self.init(refusedFor: seconds, perMinute: limit.perMinute, burst: limit.burst)
  }
}

extension Refusal.Kind {
  var code: StatusCode {
    switch self {
    case .addressLimited, .userLimited, .capReached: .resourceExhausted
    case .missingAuthorization, .invalidIDToken, .noSubject: .unauthenticated
    case .wrongDomain: .permissionDenied
    // Not a code that clients try again by themselves.
    case .capabilityStopped, .callerStopped: .failedPrecondition
    case .unknownCapability: .invalidArgument
    case .mintFailed: .internal
    case .keysUnavailable, .limiterUnavailable, .auditUnavailable: .unavailable
    case .cancelled: .cancelled
    }
  }
}

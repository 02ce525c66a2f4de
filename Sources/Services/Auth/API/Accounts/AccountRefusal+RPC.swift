internal import AuthDomain
internal import RPC
internal import ServiceKit

extension AccountRefusal {
  /// The domain of the reason codes.
  static let domain = "parley.auth.v1"

  /// The refusal as it is sent.
  var rpcError: RPCError {
    var details: [ErrorDetail] = [.errorInfo(reason: kind.reason, domain: Self.domain, metadata: hints)]
    var metadata = Metadata()
    if let field { details.append(.badRequest([.init(field: field.name, description: field.description)])) }
    if let retryAfter {
      details.append(.retryInfo(retryAfter))
      let seconds = retryAfter.wholeSecondsUp
      metadata.append("retry-after", "\(seconds)")
      if let limit { metadata.append(contentsOf: RateLimitFields(refusedFor: seconds, by: limit).metadata) }
    } else if kind.code == .unavailable {
      details.append(.retryInfo(.seconds(1)))
    }
    return RPCError(kind.code, kind.text, details: details, metadata: metadata, cause: self)
  }
}

extension AccountRefusal.Kind {
  var code: StatusCode {
    switch self {
    case .unknownApp, .sessionNotFound, .userNotFound, .workNotFound, .receiptUnknown: .notFound
    case .providerNotOffered, .stepUpRequired, .accountDeleting, .exportNotAvailable: .failedPrecondition
    case .accountSuspended, .identityMismatch: .permissionDenied
    case .invalidArgument: .invalidArgument
    case .addressLimited, .userLimited: .resourceExhausted
    case .refreshRaced: .aborted
    case .keysUnavailable, .limiterUnavailable, .signingUnavailable: .unavailable
    case .cancelled: .cancelled
    case .invalidIDToken, .nonceUnknown, .nonceMissing, .nonceMismatch, .nonceForm, .idTokenReplayed, .invalidRefreshToken,
      .refreshReused, .sessionExpired, .sessionSignedOut, .sessionRevoked, .sessionRevokedByOperator, .accountDeleted,
      .consentRevoked:
      .unauthenticated
    }
  }
}

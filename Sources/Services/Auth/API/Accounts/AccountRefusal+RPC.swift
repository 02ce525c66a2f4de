internal import AuthDomain
internal import RPC

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
      let (seconds, attoseconds) = retryAfter.components
      metadata.append("retry-after", "\(max(1, attoseconds > 0 ? seconds + 1 : seconds))")
    } else if kind.code == .unavailable {
      details.append(.retryInfo(.seconds(1)))
    }
    return RPCError(kind.code, kind.text, details: details, metadata: metadata, cause: self)
  }
}

extension AccountRefusal.Kind {
  var code: StatusCode {
    switch self {
    case .unknownApp, .sessionNotFound, .workNotFound, .receiptUnknown: .notFound
    case .providerNotOffered, .stepUpRequired, .accountDeleting, .exportNotAvailable: .failedPrecondition
    case .accountSuspended, .notYourOwn, .identityMismatch: .permissionDenied
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

internal import AuthDomain
internal import OpenID

extension PortFailure {
  /// What a verifier threw, as the domain sees it. The distinct reason goes along, for the log.
  init(_ error: IDTokenError) {
    switch error.code {
    case .rejected: self.init(.rejected, reason: error.reason)
    case .cancelled: self = .cancelled
    default: self.init(.unavailable, reason: error.reason)
    }
  }
}

import RPC

/// A session that has ended on this device.
public struct SignedOut: Sendable, Hashable {
  /// Why.
  public enum Cause: Sendable, Hashable {
    /// The person signed out, here.
    case signedOut
    /// The person ended the session from another device.
    case revoked
    /// A refresh token was used twice: somebody else has a copy of it.
    case refreshReused
    /// The session was not used for too long, or has reached its greatest age.
    case expired
    /// An operator ended it.
    case revokedByOperator
    /// The account is deleted.
    case accountDeleted
    /// The account is suspended.
    case accountSuspended
    /// The person withdrew the app's access at Google or Apple.
    case consentRevoked
    /// The server does not know the refresh token.
    case unknownToken
    /// A reason that this version has no name for.
    case other(String)
  }

  /// Why.
  public let cause: Cause
  /// The session.
  public let sessionID: String
  /// Whether the server knows that it has ended. A sign-out without a network is not known there; the session ends there in time.
  public let isKnownToServer: Bool
}

extension SignedOut.Cause {
  /// The domain of the reasons that say what became of a session.
  static let domain = "parley.auth.v1"

  /// The cause that a refusal names; nil when the refusal is about something else, or not from the service itself.
  ///
  /// - Parameter ofRefresh: Whether a refresh was refused, where the service refuses nobody whose session goes on.
  init?(_ error: RPCError, ofRefresh: Bool) {
    guard error.code == .unauthenticated || error.code == .permissionDenied else { return nil }
    var named: String?
    for case .errorInfo(let reason, Self.domain, _) in error.details { named = named ?? reason }
    guard let reason = named else { return nil }
    switch reason {
    case "SESSION_SIGNED_OUT": self = .signedOut
    case "SESSION_REVOKED": self = .revoked
    case "REFRESH_REUSED": self = .refreshReused
    case "SESSION_EXPIRED": self = .expired
    case "SESSION_REVOKED_BY_OPERATOR": self = .revokedByOperator
    case "ACCOUNT_DELETED": self = .accountDeleted
    case "ACCOUNT_SUSPENDED": self = .accountSuspended
    case "CONSENT_REVOKED": self = .consentRevoked
    case "INVALID_REFRESH_TOKEN" where ofRefresh: self = .unknownToken
    default:
      guard ofRefresh && error.code == .unauthenticated else { return nil }
      self = .other(reason)
    }
  }
}

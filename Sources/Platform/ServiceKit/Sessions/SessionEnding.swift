/// Why a session has ended. The client is told, so that the app can tell the person.
public enum SessionEnding: Sendable, Hashable, CaseIterable {
  /// The person signed out.
  case signedOut
  /// The person ended it from another device.
  case revoked
  /// A refresh token was shown that had been used before.
  case refreshReused
  /// It was not refreshed in time.
  case expired
  /// An operator ended it.
  case revokedByOperator
  /// The account is deleted.
  case accountDeleted
  /// The person withdrew the app's access at the provider.
  case consentRevoked

  /// The reason code, of the domain `parley.auth.v1`.
  public var reason: String {
    switch self {
    case .signedOut: "SESSION_SIGNED_OUT"
    case .revoked: "SESSION_REVOKED"
    case .refreshReused: "REFRESH_REUSED"
    case .expired: "SESSION_EXPIRED"
    case .revokedByOperator: "SESSION_REVOKED_BY_OPERATOR"
    case .accountDeleted: "ACCOUNT_DELETED"
    case .consentRevoked: "CONSENT_REVOKED"
    }
  }

  var text: String {
    switch self {
    case .signedOut: "the session was signed out"
    case .revoked: "the session was ended from another device"
    case .refreshReused: "the session was ended: its refresh token was used twice"
    case .expired: "the session has expired"
    case .revokedByOperator: "the session was ended by an operator"
    case .accountDeleted: "the account is deleted"
    case .consentRevoked: "the session was ended: the app's access was withdrawn"
    }
  }
}

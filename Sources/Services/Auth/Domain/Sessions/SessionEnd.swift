/// Why a session has ended. Its name is kept in the database; a client is told by ``reason``.
public enum SessionEnd: String, Sendable, Hashable, CaseIterable {
  /// The person signed out.
  case signedOut = "signed_out"
  /// The person ended it from another device.
  case revoked
  /// A refresh token was shown that had been used before: somebody else has a copy of it.
  case refreshReused = "refresh_reused"
  /// It was not refreshed in time.
  case expired
  /// An operator ended it.
  case revokedByOperator = "revoked_by_operator"
  /// The account is deleted.
  case accountDeleted = "account_deleted"
  /// The person withdrew the app's access at the provider.
  case consentRevoked = "consent_revoked"

  /// What a client of the session is refused with.
  public var refusal: AccountRefusal.Kind {
    switch self {
    case .signedOut: .sessionSignedOut
    case .revoked: .sessionRevoked
    case .refreshReused: .refreshReused
    case .expired: .sessionExpired
    case .revokedByOperator: .sessionRevokedByOperator
    case .accountDeleted: .accountDeleted
    case .consentRevoked: .consentRevoked
    }
  }

  /// The reason code of that refusal.
  public var reason: String { refusal.reason }
}

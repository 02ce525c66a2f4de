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
  /// What has happened, in a sentence for the person. Apps in other languages say it by the cause.
  public var text: String {
    switch self {
    case .signedOut: "You have signed out."
    case .revoked: "You were signed out from another device."
    case .refreshReused: "You were signed out, because somebody else may have used your sign-in."
    case .expired: "You were signed out, because the app was not used for a long time."
    case .revokedByOperator: "You were signed out by our support team."
    case .accountDeleted: "Your account was deleted."
    case .accountSuspended: "Your account is suspended."
    case .consentRevoked: "You have withdrawn the app's access to your Google or Apple account."
    case .unknownToken, .other: "You were signed out."
    }
  }

  /// What the person should do, in a sentence or two.
  public var advice: String {
    switch self {
    case .signedOut, .revoked, .expired, .unknownToken, .other: "Sign in again to go on."
    case .refreshReused: "Sign in again, then look at your devices and sign out those that are not yours."
    case .revokedByOperator: "Sign in again. If you did not expect this, contact support."
    case .accountDeleted: "If you sign in again, you begin with a new account."
    case .accountSuspended: "Contact support. Nobody can sign in to the account until then."
    case .consentRevoked: "Sign in again to give the app access."
    }
  }

  /// Whether signing in again helps: not as long as the account is suspended.
  public var canSignInAgain: Bool { self != .accountSuspended }

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

public import Values

/// What an access token says.
public struct AccessTokenClaims: Sendable, Hashable {
  /// `sub`: the account.
  public var user: UserID
  /// `sid`: the session.
  public var session: SessionID
  /// `app`: the app that the account belongs to.
  public var app: String
  /// `iat`.
  public var issuedAt: Instant
  /// `exp`.
  public var expiresAt: Instant
  /// `auth_time`: when the person last showed a provider's token, which a step-up asks for.
  public var authenticatedAt: Instant

  /// The claims of a token.
  public init(
    user: UserID, session: SessionID, app: String, issuedAt: Instant, expiresAt: Instant, authenticatedAt: Instant
  ) {
    self.user = user
    self.session = session
    self.app = app
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.authenticatedAt = authenticatedAt
  }
}

/// Signs access tokens with the key of the hour.
public protocol AccessTokenSigning: Sendable {
  /// Returns where ``sign(_:)`` would sign now; nothing is signed for that.
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when there is no key to sign with.
  func mustBeReady() async throws(PortFailure)
  /// The token, a JWT (ES256, `typ: at+jwt`).
  ///
  /// - Throws: ``PortFailure`` with `unavailable` when there is no key to sign with.
  func sign(_ claims: AccessTokenClaims) async throws(PortFailure) -> String
}

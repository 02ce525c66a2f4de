public import Values

/// Who vouches for a person.
public enum IdentityProvider: String, Sendable, Hashable, CaseIterable {
  /// Sign in with Google.
  case google
  /// Sign in with Apple.
  case apple
}

/// What a provider's verified token says of a person.
public struct VerifiedIdentity: Sendable, Hashable {
  /// Who vouches.
  public var provider: IdentityProvider
  /// The provider's identifier of the account; never empty. With Apple it is one per developer team.
  public var subject: String
  /// The audience of ours that the token is for.
  public var audience: String
  /// The address, if told.
  public var email: String?
  /// Whether the provider says that it has verified the address.
  public var emailIsVerified: Bool
  /// Whether the address is a relay's.
  public var emailIsPrivate: Bool
  /// The given name, or the whole one, if the token says it (Apple's never does).
  public var name: String?
  /// The `nonce` claim.
  public var nonce: String?
  /// Whether the platform could carry a nonce: false only where Apple's token says `nonce_supported: false`.
  public var supportsNonce: Bool
  /// `iat`.
  public var issuedAt: Instant
  /// `exp`.
  public var expiresAt: Instant

  /// What a token says.
  public init(
    provider: IdentityProvider, subject: String, audience: String, email: String? = nil, emailIsVerified: Bool = false,
    emailIsPrivate: Bool = false, name: String? = nil, nonce: String? = nil, supportsNonce: Bool = true, issuedAt: Instant,
    expiresAt: Instant
  ) {
    self.provider = provider
    self.subject = subject
    self.audience = audience
    self.email = email
    self.emailIsVerified = emailIsVerified
    self.emailIsPrivate = emailIsPrivate
    self.name = name
    self.nonce = nonce
    self.supportsNonce = supportsNonce
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
  }
}

/// Judges the tokens of one provider for one app. Nonce and single use are judged by the caller.
public protocol IdentityVerifying: Sendable {
  /// Who the bearer of the token is.
  ///
  /// - Throws: ``PortFailure``: `rejected` when the token was judged and is not valid, `unavailable` when it could not be judged.
  func verify(_ token: String) async throws(PortFailure) -> VerifiedIdentity
}

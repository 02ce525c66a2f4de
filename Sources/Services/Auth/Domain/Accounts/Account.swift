public import Values

/// A person, as one app knows them: one account for each subject of a provider, and never one for two of them, whatever their e-mail
/// addresses are.
public struct Account: Sendable, Hashable {
  /// The account.
  public var id: UserID
  /// The app that it belongs to.
  public var app: String
  /// With whom it signs in.
  public var provider: IdentityProvider
  /// What the person is called, 1 to 100 characters.
  public var name: String
  /// The address that the provider told last.
  public var email: String?
  /// Whether the provider says that it has verified the address.
  public var emailIsVerified: Bool
  /// Whether the address is a relay's.
  public var emailIsPrivate: Bool
  /// When it was made.
  public var createdAt: Instant

  /// An account.
  public init(
    id: UserID, app: String, provider: IdentityProvider, name: String, email: String?, emailIsVerified: Bool,
    emailIsPrivate: Bool,
    createdAt: Instant
  ) {
    self.id = id
    self.app = app
    self.provider = provider
    self.name = name
    self.email = email
    self.emailIsVerified = emailIsVerified
    self.emailIsPrivate = emailIsPrivate
    self.createdAt = createdAt
  }
}

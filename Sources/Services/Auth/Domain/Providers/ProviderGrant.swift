/// What a provider has granted to an app for a person: a token that can be revoked there.
public struct ProviderGrant: Sendable, Hashable, CustomStringConvertible {
  /// How a grant ended.
  public enum Ending: String, Sendable, Hashable, CaseIterable {
    /// The provider has revoked it for us.
    case revoked
    /// The provider said that there was nothing left to revoke.
    case alreadyInvalid = "already_invalid"
    /// The person took it back at the provider.
    case withdrawn
    /// The person's account at the provider is gone.
    case providerAccountDeleted = "provider_account_deleted"
  }

  /// How long an authorization code serves: a token is got for it before, or never.
  public static let codeLifetime = Duration.seconds(300)

  /// Whose it is.
  public let user: UserID
  /// Who granted it.
  public let provider: IdentityProvider
  /// To which of our clients.
  public let clientID: String

  /// A grant by its names.
  public init(user: UserID, provider: IdentityProvider, clientID: String) {
    self.user = user
    self.provider = provider
    self.clientID = clientID
  }

  /// Its names: what its secrets are sealed for.
  public var description: String { "\(provider.rawValue) \(clientID) \(user)" }
}

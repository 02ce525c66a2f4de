/// An app that people sign in to: a tenant. Accounts belong to one app and are never shared between two.
public struct App: Sendable, Hashable {
  /// What an app makes of one provider.
  public struct Provider: Sendable, Hashable {
    /// The client ids that a token may be for; none means that nobody signs in this way.
    public var audiences: [String]
    /// How the nonce has to stand in the token.
    public var nonceForm: NonceForm

    /// A provider's part of an app.
    public init(audiences: [String] = [], nonceForm: NonceForm) {
      self.audiences = audiences
      self.nonceForm = nonceForm
    }
  }

  /// Limits of the app's own, where it has any; nil means the service's.
  public struct Limits: Sendable, Hashable {
    /// Sign-ins per client address.
    public var signIn: RateLimit?
    /// Refreshes per session.
    public var refresh: RateLimit?

    /// Limits of an app.
    public init(signIn: RateLimit? = nil, refresh: RateLimit? = nil) {
      self.signIn = signIn
      self.refresh = refresh
    }
  }

  /// The longest name, in bytes.
  public static let maximumNameLength = 32

  /// What the app is called by clients, in settings and in tables: `[a-z][a-z0-9-]{0,31}`.
  public let name: String
  /// What people know it as.
  public var brand: String
  /// Sign in with Google.
  public var google: Provider
  /// Sign in with Apple.
  public var apple: Provider
  /// Limits of its own.
  public var limits: Limits

  /// An app. Whether its name is one is judged by the ``AppCatalogue``.
  public init(
    name: String, brand: String? = nil, google: Provider = Provider(nonceForm: .raw),
    apple: Provider = Provider(nonceForm: .sha256), limits: Limits = Limits()
  ) {
    self.name = name
    self.brand = brand ?? name
    self.google = google
    self.apple = apple
    self.limits = limits
  }

  /// What the app makes of this provider.
  public subscript(provider: IdentityProvider) -> Provider {
    switch provider {
    case .google: google
    case .apple: apple
    }
  }

  /// Whether people can sign in this way.
  public func offers(_ provider: IdentityProvider) -> Bool { !self[provider].audiences.isEmpty }

  /// Whether the text may name an app.
  public static func isName(_ text: String) -> Bool {
    let bytes = text.utf8
    guard let first = bytes.first, bytes.count <= maximumNameLength, (0x61...0x7a).contains(first) else { return false }
    return bytes.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d }
  }
}

public import Values

/// Something that a person did with their account at a provider, as the provider told us.
public struct ProviderNotice: Sendable, Hashable {
  /// What was done.
  public enum Kind: Sendable, Hashable {
    /// Mail to the person's relay address is forwarded, or is no longer.
    case emailForwarding(Bool)
    /// The person withdrew the app's access.
    case consentRevoked
    /// The account at the provider is deleted: nobody can sign in with it again.
    case accountDeleted
    /// Something of no consequence here.
    case other
  }

  /// Clocks may differ by so much: who signed in that shortly after the event may have done so before it.
  static let clockTolerance = Duration.seconds(60)

  /// Who tells.
  public var provider: IdentityProvider
  /// The same for every delivery.
  public var id: String
  /// The provider's word for what was done.
  public var word: String
  /// What was done.
  public var kind: Kind
  /// The client that it concerns.
  public var clientID: String
  /// The person, as the provider names them.
  public var subject: String
  /// When it was done, by the provider's clock.
  public var occurredAt: Instant
  /// The address that it concerns, if it concerns one.
  public var email: String?
  /// Whether that is a relay's.
  public var emailIsPrivate: Bool

  /// A notice.
  public init(
    provider: IdentityProvider, id: String, word: String, kind: Kind, clientID: String, subject: String, occurredAt: Instant,
    email: String? = nil, emailIsPrivate: Bool = false
  ) {
    self.provider = provider
    self.id = id
    self.word = word
    self.kind = kind
    self.clientID = clientID
    self.subject = subject
    self.occurredAt = occurredAt
    self.email = email
    self.emailIsPrivate = emailIsPrivate
  }

  /// Sessions and grants that are not younger than this end with it; nil when none end.
  ///
  /// A notice may come days late, and the person may have signed in again meanwhile: that is a consent of its own. Nobody signs in
  /// again with an account that is gone, so then everything ends.
  public var endsWhatBeganBefore: Instant? {
    switch kind {
    case .consentRevoked: occurredAt.advanced(by: Self.clockTolerance)
    case .accountDeleted: Instant(microseconds: .max)
    case .emailForwarding, .other: nil
    }
  }

  /// How the person's grants end with it.
  public var ending: ProviderGrant.Ending? {
    switch kind {
    case .consentRevoked: .withdrawn
    case .accountDeleted: .providerAccountDeleted
    case .emailForwarding, .other: nil
    }
  }

  /// What it is in the person's activity.
  public var action: Activity.Action? {
    switch kind {
    case .emailForwarding(true): .emailForwardingResumed
    case .emailForwarding(false): .emailForwardingStopped
    case .consentRevoked: .consentWithdrawn
    case .accountDeleted: .providerAccountDeleted
    case .other: nil
    }
  }
}

public import Values

/// An account as operators see it.
public struct UserRecord: Sendable, Hashable {
  /// The account.
  public var account: Account
  /// The provider's identifier of the person.
  public var subject: String
  /// Since when nobody can sign in to it, and why.
  public var suspension: Suspension?
  /// How many sessions are alive.
  public var liveSessions: Int
  /// When one of them was used last.
  public var lastUsedAt: Instant?

  /// An account.
  public init(account: Account, subject: String, suspension: Suspension?, liveSessions: Int, lastUsedAt: Instant?) {
    self.account = account
    self.subject = subject
    self.suspension = suspension
    self.liveSessions = liveSessions
    self.lastUsedAt = lastUsedAt
  }
}

/// Why nobody can sign in to an account.
public struct Suspension: Sendable, Hashable {
  /// Since when.
  public var at: Instant
  /// The identity in the certificate of the operator who did it.
  public var by: String
  /// Why, in the operator's words.
  public var reason: String

  /// A suspension.
  public init(at: Instant, by: String, reason: String) {
    self.at = at
    self.by = by
    self.reason = reason
  }
}

/// Which accounts are wanted; nil does not matter.
public struct UserFilter: Sendable, Hashable {
  /// The app that they belong to.
  public var app: String?
  /// With whom they sign in.
  public var provider: IdentityProvider?
  /// The whole e-mail address, in capital or small letters.
  public var email: String?
  /// Made at this time or later.
  public var createdSince: Instant?
  /// Made before this time.
  public var createdUntil: Instant?
  /// Whether only suspended accounts are wanted.
  public var suspendedOnly: Bool

  /// A filter.
  public init(
    app: String? = nil, provider: IdentityProvider? = nil, email: String? = nil, createdSince: Instant? = nil,
    createdUntil: Instant? = nil, suspendedOnly: Bool = false
  ) {
    self.app = app
    self.provider = provider
    self.email = email
    self.createdSince = createdSince
    self.createdUntil = createdUntil
    self.suspendedOnly = suspendedOnly
  }
}

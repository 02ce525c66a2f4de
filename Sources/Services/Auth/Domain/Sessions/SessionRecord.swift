public import Values

/// What a person signs in from, as the app says. It decides nothing.
public struct Device: Sendable, Hashable {
  /// What the person calls it, at most 100 characters.
  public var name: String
  /// The system and its version, at most 50 characters.
  public var platform: String
  /// The app's version, at most 50 characters.
  public var appVersion: String

  /// A device.
  public init(name: String = "", platform: String = "", appVersion: String = "") {
    self.name = name
    self.platform = platform
    self.appVersion = appVersion
  }
}

/// A device that stays signed in, without what its tokens are known by.
public struct SessionRecord: Sendable, Hashable {
  /// The session.
  public var id: SessionID
  /// Whose it is.
  public var user: UserID
  /// The app.
  public var app: String
  /// With whom the person signed in.
  public var provider: IdentityProvider
  /// What from.
  public var device: Device
  /// When.
  public var createdAt: Instant
  /// When the person last showed a provider's token.
  public var authenticatedAt: Instant
  /// When it was last refreshed.
  public var lastUsedAt: Instant
  /// The client's address then.
  public var lastAddress: String
  /// When it ends if it is not refreshed before.
  public var expiresAt: Instant

  /// A session.
  public init(
    id: SessionID, user: UserID, app: String, provider: IdentityProvider, device: Device, createdAt: Instant,
    authenticatedAt: Instant, lastUsedAt: Instant, lastAddress: String, expiresAt: Instant
  ) {
    self.id = id
    self.user = user
    self.app = app
    self.provider = provider
    self.device = device
    self.createdAt = createdAt
    self.authenticatedAt = authenticatedAt
    self.lastUsedAt = lastUsedAt
    self.lastAddress = lastAddress
    self.expiresAt = expiresAt
  }
}

/// A session that was ended, as other services are told.
public struct EndedSession: Sendable, Hashable {
  /// The session.
  public var id: SessionID
  /// Why it ended.
  public var cause: SessionEnd
  /// Until when access tokens of it may be around.
  public var mattersUntil: Instant

  /// An ended session.
  public init(id: SessionID, cause: SessionEnd, mattersUntil: Instant) {
    self.id = id
    self.cause = cause
    self.mattersUntil = mattersUntil
  }
}

internal import AuthDomain
internal import AuthStore
internal import ParleyAPI
internal import PostgreSQL
internal import Values
internal import WellKnown

extension AuthDomain.IdentityProvider {
  /// Nil for a provider that was not said, or that this version does not know.
  init?(_ provider: ParleyAPI.IdentityProvider) {
    switch provider {
    case .google: self = .google
    case .apple: self = .apple
    case .unspecified, .unrecognized: return nil
    }
  }

  var message: ParleyAPI.IdentityProvider {
    switch self {
    case .google: .google
    case .apple: .apple
    }
  }
}

extension AuthDomain.NonceForm {
  var message: ParleyAPI.NonceForm {
    switch self {
    case .raw: .raw
    case .sha256: .sha256
    }
  }
}

extension AuthDomain.SessionEnd {
  var message: ParleyAPI.SessionEnd {
    switch self {
    case .signedOut: .signedOut
    case .revoked: .revoked
    case .refreshReused: .refreshReused
    case .expired: .expired
    case .revokedByOperator: .revokedByOperator
    case .accountDeleted: .accountDeleted
    case .consentRevoked: .consentRevoked
    }
  }
}

extension Account {
  var message: Profile {
    Profile(
      userID: id.description, app: app, name: name, email: email, emailVerified: emailIsVerified, isPrivateEmail: emailIsPrivate,
      provider: provider.message, createdAt: .init(createdAt))
  }
}

extension SessionRecord {
  func message(isCurrent: Bool) -> ParleyAPI.Session {
    ParleyAPI.Session(
      id: id.description, isCurrent: isCurrent,
      device: .init(name: device.name, platform: device.platform, appVersion: device.appVersion), provider: provider.message,
      createdAt: .init(createdAt), lastUsedAt: .init(lastUsedAt), lastAddress: lastAddress, expiresAt: .init(expiresAt))
  }
}

extension ActivityStore.Entry {
  /// As the person sees it: that it was an operator, not which one, from where and why.
  var message: ParleyAPI.Activity {
    let isOwn = activity.actor == AuthDomain.Activity.person
    return ParleyAPI.Activity(
      id: id.description, at: .init(activity.at), action: activity.action, outcome: activity.outcome.rawValue,
      reason: activity.reason, sessionID: activity.session?.description, clientAddress: isOwn ? activity.address : "",
      actor: isOwn ? activity.actor : "operator")
  }
}

extension AuthDomain.Device {
  /// Judges what an app says of itself.
  init(_ message: ParleyAPI.Device?) throws(AccountRefusal) {
    guard let message else {
      self.init()
      return
    }
    try Self.judge(message.name, "device.name", limit: 100)
    try Self.judge(message.platform, "device.platform", limit: 50)
    try Self.judge(message.appVersion, "device.app_version", limit: 50)
    self.init(name: message.name, platform: message.platform, appVersion: message.appVersion)
  }

  private static func judge(_ text: String, _ field: String, limit: Int) throws(AccountRefusal) {
    // Scalars first: a single character may consist of any number of them.
    guard text.unicodeScalars.count <= 4 * limit, text.count <= limit,
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { throw AccountRefusal(field: field, "at most \(limit) characters, none of them a control character") }
  }
}

internal import AppleProvider
public import ServiceKit

/// The settings of Sign in with Apple. How long its keys are kept is set as for Google's (`jwksCooldown`, `jwksMaxAge`,
/// `jwksTimeout`).
public enum AppleKeys {
  /// The developer team.
  public static let teamID = ConfigurationKey<String?>(
    optional: "apple.teamId", check: { $0.flatMap(identifierProblem) },
    "The Apple developer team: with apple.keyId and apple.privateKey it revokes Apple's tokens when an account is deleted.")
  /// The key's name.
  public static let keyID = ConfigurationKey<String?>(
    optional: "apple.keyId", check: { $0.flatMap(identifierProblem) }, "The identifier of the team's key for Sign in with Apple.")
  /// The key.
  public static let privateKey = ConfigurationKey<String?>(
    optional: "apple.privateKey", isSecret: true, check: { $0.flatMap(privateKeyProblem) },
    "That key: the text of Apple's .p8 file (…_FILE takes a path).")
  /// The issuers.
  public static let issuers = ConfigurationKey<[String]>(
    "apple.issuers", default: [AppleIdentityTokenPolicy.appleIssuer], check: { $0.isEmpty ? "at least one" : nil },
    "The accepted issuers of identity tokens; the first is also whom our own proofs are for.")
  /// The key set.
  public static let keySetURL = ConfigurationKey<String?>(
    optional: "apple.jwksUrl", check: { $0.flatMap(CloudKeys.problem) },
    "The key set that identity tokens and notifications are signed with; by default Apple's.")
  /// The token endpoint.
  public static let tokenURL = ConfigurationKey<String>(
    "apple.tokenUrl", default: AppleTokenClient.Endpoints().token, check: { CloudKeys.problem($0) },
    "Where authorization codes are exchanged.")
  /// The revocation endpoint.
  public static let revokeURL = ConfigurationKey<String>(
    "apple.revokeUrl", default: AppleTokenClient.Endpoints().revoke, check: { CloudKeys.problem($0) },
    "Where tokens are revoked.")
  /// The time for a request.
  public static let timeout = ConfigurationKey<Duration>(
    "apple.timeout", default: .seconds(10), in: .milliseconds(100) ... .seconds(60),
    "How long exchanging or revoking may take, with its repetitions.")
  /// Notifications a minute for an address.
  public static let notificationsPerMinute = ConfigurationKey<Int>(
    "apple.notificationsPerMin", default: 600, in: 1...1_000_000,
    "Notifications of Apple's a minute, per client address (IPv6: per /64). What is refused, Apple delivers again.")
  /// An address's burst of notifications.
  public static let notificationsBurst = ConfigurationKey<Int>(
    "apple.notificationsBurst", default: 300, in: 1...1_000_000, "Notifications of Apple's at once, per client address.")
  /// The age of tokens.
  public static let maximumTokenAge = ConfigurationKey<Duration>(
    "signIn.maxTokenAge", default: .seconds(600), in: .seconds(60) ... .seconds(86_400),
    "How long ago the token that somebody signs in with may have been issued, with Google as with Apple.")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [
    teamID, keyID, privateKey, issuers, keySetURL, tokenURL, revokeURL, timeout,
    notificationsPerMinute, notificationsBurst, maximumTokenAge,
  ]

  /// What proves the team to Apple; nil when nothing is set.
  static func credential(_ settings: Settings) throws(AppleCredential.Fault) -> AppleCredential? {
    guard let team = settings[teamID], let key = settings[keyID], let text = settings[privateKey] else { return nil }
    return try AppleCredential(teamID: team, keyID: key, privateKey: text)
  }

  /// What is the matter with the settings together; `isOffered` tells whether any app has audiences at Apple.
  static func findings(_ settings: Settings, isOffered: Bool) -> [ConfigurationFinding] {
    let given = [settings[teamID], settings[keyID], settings[privateKey]].count { $0 != nil }
    switch given {
    case 3:
      return isOffered ? [] : [.warning(teamID, "not used: no app has audiences at Apple")]
    case 0:
      return isOffered
        ? [.warning(teamID, "not set: Apple's tokens cannot be revoked when an account is deleted, which Apple demands")] : []
    default: return [.error(teamID, "apple.teamId, apple.keyId and apple.privateKey belong together: set all of them or none")]
    }
  }

  // MARK: Checks

  @Sendable private static func identifierProblem(_ text: String) -> String? {
    AppleCredential.isIdentifier(text) ? nil : "ten capital letters and digits"
  }

  @Sendable private static func privateKeyProblem(_ text: String) -> String? {
    do throws(AppleCredential.Fault) {
      _ = try AppleCredential(teamID: "0000000000", keyID: "0000000000", privateKey: text)
      return nil
    } catch {
      return error.description
    }
  }
}

internal import AuthDomain
internal import AuthStore
internal import ParleyAPI
public import PostgreSQL
public import RPC
public import ServiceKit

/// `parley-auth`: signs people in and hands them short-lived cloud tokens.
public enum AuthService: Service {
  /// `auth`.
  public static let name = "auth"
  /// The keys of the broker, of the apps, of Sign in with Apple and of the service's own signing keys.
  public static let configuration: [any ConfigurationKeyDeclaration] =
    BrokerKeys.all + AppKeys.all + AppleKeys.all + SigningKeyKeys.all + AccountKeys.all
  /// The broker, the accounts, and what other services ask about sessions.
  public static let services: [ServiceDescriptor] = [
    TokenBrokerService.descriptor, ParleyAPI.AuthService.descriptor, SessionDirectoryService.descriptor,
  ]
  /// The schema `auth`.
  public static let migrations: [Migration] = AuthMigrations.all

  /// What an operator should know about the settings.
  public static func check(_ settings: Settings) -> [ConfigurationFinding] {
    var findings: [ConfigurationFinding] = [
      .warning(BrokerKeys.serviceAccount, "a key file is in use: whoever reads it can mint; rotate it every 90 days"),
      .warning(
        BrokerKeys.tokenScope,
        "the default token serves all that the service account may do, for up to 3600 s: give the account no more roles than the apps need"
      ),
    ]
    if settings[BrokerKeys.keySetURL] != nil, settings[BrokerKeys.discoveryURL] != nil {
      findings.append(.warning(BrokerKeys.discoveryURL, "not used: jwksUrl is set"))
    }
    let offersApple = (try? AppKeys.catalogue(settings))?.all.contains { $0.offers(.apple) } ?? false
    return findings + AppKeys.findings(settings) + AppleKeys.findings(settings, isOffered: offersApple)
      + SigningKeyKeys.check(settings) + AccountKeys.findings(settings)
  }

  /// Puts it together.
  public static func build(_ context: ServiceContext) async throws -> ServiceParts {
    let (keys, providers) = (try await SigningKeys(context), try IdentityProviders(context))
    let accounts = Accounts(context, providers, keys)
    return ServiceParts(joining: [keys.parts, try TokenBroker(context, providers).parts, accounts.parts])
  }
}

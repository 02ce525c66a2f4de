internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Jobs
internal import Limits
internal import Pages
internal import ParleyAPI
internal import ParleyProvider
public import PostgreSQL
public import RPC
public import ServiceKit

/// `parley-auth`: signs people in and hands them short-lived cloud tokens.
public enum AuthService: Service {
  /// `auth`.
  public static let name = "auth"
  /// As in `deploy/services`.
  public static let defaultPort: UInt16 = 10_000
  /// The keys of all of its parts.
  public static let configuration: [any ConfigurationKeyDeclaration] =
    BrokerKeys.all + CloudKeys.all + AppKeys.all + AppleKeys.all + SigningKeyKeys.all + AccountKeys.all + AccountDataKeys.all
    + Billing.configuration + JobKeys.all
  /// The broker, the accounts and their data, what other services ask about sessions, and entitlements.
  public static let services: [ServiceDescriptor] =
    [
      TokenBrokerService.descriptor, BrokerAdminService.descriptor, ParleyAPI.AuthService.descriptor,
      SessionDirectoryService.descriptor, UserAdminService.descriptor, AccountService.descriptor,
      JobAdminService.descriptor,
    ] + Billing.services
  /// The schema `auth`.
  public static let migrations: [Migration] = AuthMigrations.all
  /// Their ends, and what of them is a person's.
  public static let tables: [TableDeclaration] = AuthMigrations.tables

  /// What an operator should know about the settings.
  public static func check(_ settings: Settings) -> [ConfigurationFinding] {
    var findings = CloudIdentity.findings(settings)
    findings.append(
      .warning(
        BrokerKeys.tokenScope,
        "the default token serves all that the service account may do, for up to 3600 s: give the account no more roles than the apps need"
      ))
    if settings[BrokerKeys.keySetURL] != nil, settings[BrokerKeys.discoveryURL] != nil {
      findings.append(.warning(BrokerKeys.discoveryURL, "not used: jwksUrl is set"))
    }
    let offersApple = (try? AppKeys.catalogue(settings))?.all.contains { $0.offers(.apple) } ?? false
    return findings + AppKeys.findings(settings) + AppleKeys.findings(settings, isOffered: offersApple)
      + SigningKeyKeys.check(settings) + AccountKeys.findings(settings) + AccountDataKeys.findings(settings)
      + Billing.check(settings)
  }

  /// Puts it together.
  public static func build(_ context: ServiceContext) async throws -> ServiceParts {
    let (keys, providers) = (try await SigningKeys(context), try IdentityProviders(context))
    let apple = AppleAccounts(context, providers, keys.sealing)
    let pages = PageKeyStore(schema: "auth", context.database)
    let broker = try TokenBroker(context, providers, pages: pages)
    let accounts = Accounts(context, providers, keys, apple.grants, subjects: broker.pipeline.subjects, pages: pages)
    try await broker.checkOwnAccount()
    try await accounts.warmUp()
    let billing = Billing(context)
    let jobs = ServiceJobs(context, schema: "auth")
    let data = try AccountData(
      context, accounts, providers, subjects: broker.pipeline.subjects, revokers: apple.revoking, jobs: jobs.engine)
    var parts = [keys.parts, broker.parts, accounts.parts, apple.parts, data.parts]
    if let billing { parts.append(billing.parts(SessionCallers(sessions: accounts.authenticator))) }
    let entitlements = billing.map { OwnEntitlements(entitlements: $0.entitlements) }
    parts.append(ServiceParts(guards: .sessions(accounts.authenticator, entitlements: entitlements)))
    parts.append(policies(context))
    parts.append(ServiceParts(services: [JobAdmin.routes(jobs.engine.queue, pages: pages, log: context.log)]))
    parts.append(jobs.parts([data.jobHandlers]))
    return ServiceParts(joining: parts)
  }

  /// What the options of methods stand on. The buckets are the broker's too, which removes idle ones.
  private static func policies(_ context: ServiceContext) -> ServiceParts {
    var parts = ServiceParts.answers(schema: "auth", context)
    parts.limiter = RateLimitStore.auth(context.database, loops: context.loops.loops)
    return parts
  }
}

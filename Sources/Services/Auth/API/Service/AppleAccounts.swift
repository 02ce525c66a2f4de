internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import JOSE
internal import Limits
internal import ServiceKit

/// What keeps accounts and Apple in step, put together: grants that can be revoked, and what Apple tells by itself.
struct AppleAccounts: Sendable {
  /// What sign-ins leave their codes with; nil where no credential is set.
  let grants: AppleGrants?
  private let context: ServiceContext
  private let providers: IdentityProviders

  init(_ context: ServiceContext, _ providers: IdentityProviders, _ sealing: SealingKeys) {
    grants = providers.appleTokens.map { tokens in
      AppleGrants(
        store: ProviderGrantStore(context.database), tokens: tokens, sealing: sealing,
        lease: context.settings[AppleKeys.timeout] + .seconds(10), log: context.log, metrics: context.metrics, now: context.now)
    }
    (self.context, self.providers) = (context, providers)
  }

  /// Who is to take back what people granted, when their accounts are deleted.
  var revoking: [any ProviderGrantRevoking] { grants.map { [$0] } ?? [] }

  /// What it serves and what runs beside it; nothing where nobody signs in with Apple.
  var parts: ServiceParts {
    guard providers.apps.all.contains(where: { $0.offers(.apple) }) else { return ServiceParts() }
    let (settings, loops) = (context.settings, context.loops.loops)
    let database = context.database
    let route = AppleNoticeRoute(
      verifier: providers.appleNotifications, apps: providers.apps,
      store: ProviderNoticeStore(
        database, sessions: SessionStore(database, tokensOutlive: AccountRules.tokensOutlive)),
      limits: AccountLimits(store: .auth(database, loops: loops)),
      limit: RateLimit(
        perMinute: settings[AppleKeys.notificationsPerMinute], burst: settings[AppleKeys.notificationsBurst]),
      proxies: context.proxies, journal: AccountJournal(context.log, context.metrics), log: context.log, metrics: context.metrics,
      now: context.now)
    let worker = grants.map { AppleGrantWorker(grants: $0, loop: loops[0], log: context.log) }
    return ServiceParts(http: [route.route], jobs: worker.map { [BackgroundJob("Apple grants", $0.run)] } ?? [])
  }
}

internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Limits
internal import Logging
internal import OpenID
internal import ParleyAPI
public import RPC
internal import RPCServer
internal import RevenueCatProvider
public import ServiceKit

/// Billing, put together: RevenueCat behind its port, the database behind the store.
public struct Billing: Sendable {
  /// Whether subscriptions run: for whoever guards SUBSCRIBED methods in this process.
  public let entitlements: Entitlements
  private let webhook: RevenueCatWebhookRoute
  private let worker: RereadWorker
  private let log: Logger

  /// What it serves, known without being built.
  public static let services: [ServiceDescriptor] = [EntitlementService.descriptor, EntitlementDirectoryService.descriptor]
  /// Its settings.
  public static let configuration: [any ConfigurationKeyDeclaration] = BillingKeys.all

  /// Billing as the settings want it; nil when no key for RevenueCat is set.
  public init?(_ context: ServiceContext) {
    let settings = context.settings
    guard let key = settings[BillingKeys.apiKey] else { return nil }
    let loop = context.loops.loops[0]
    let (now, clock) = (context.now, context.providerClock)
    let names = Set(settings[BillingKeys.entitlements])
    let client = RevenueCatClient(
      key: key, base: settings[BillingKeys.address], over: context.outbound, clock: clock, log: context.log)
    let store = EntitlementStore(context.database, entitlements: names, pause: settings[BillingKeys.pause])
    let cache = EntitlementMemory()
    let limits = SharedLimits(store: RateLimitStore.auth(context.database, loops: context.loops.loops))
    let subscribers = RevenueCatSubscribers(
      client: client, entitlements: names, countsSandbox: settings[BillingKeys.countsSandbox])
    let desk = SubscriberDesk(
      store, subscribers, cache, limits,
      RateLimit(perMinute: settings[BillingKeys.perMinute], burst: settings[BillingKeys.burst]), on: loop, log: context.log,
      metrics: context.metrics, now: now)
    let rules = Entitlements.Rules(
      memory: settings[BillingKeys.memory], checkPatience: settings[BillingKeys.checkTimeout],
      syncPatience: settings[BillingKeys.timeout],
      limit: RateLimit(perMinute: settings[BillingKeys.syncPerMinute], burst: settings[BillingKeys.syncBurst]),
      isBypassed: settings[BillingKeys.isBypassed])
    entitlements = Entitlements(rules: rules, store: store, desk: desk, cache: cache, limits: limits, now: now)
    webhook = RevenueCatWebhookRoute(
      store: store, cache: cache, secret: settings[BillingKeys.webhookSecret], log: context.log,
      metrics: context.metrics, now: now)
    worker = RereadWorker(
      queue: RereadQueue(context.database), desk: desk, patience: settings[BillingKeys.timeout], loop: loop, log: context.log,
      now: now)
    log = context.log
    if settings[BillingKeys.countsSandbox] {
      log.warning("PURCHASES OF A STORE'S SANDBOX COUNT (revenuecat.sandbox): anybody can make them, and nobody pays")
    }
    if rules.isBypassed { log.critical("EVERYBODY COUNTS AS SUBSCRIBED (entitlementBypass): never where anybody pays") }
  }

  /// What it serves and what runs beside it; `callers` knows whose a call is.
  public func parts(_ callers: any BillingCallers) -> ServiceParts {
    let settings = SubscriptionSettingsRoutes(entitlements: entitlements, callers: callers, log: log)
    return ServiceParts(
      services: [
        EntitlementService.routes(EntitlementHandlers(entitlements: entitlements, callers: callers)),
        EntitlementDirectoryService.routes(EntitlementDirectoryHandlers(entitlements: entitlements)),
      ],
      http: [webhook.route] + settings.routes, jobs: [BackgroundJob("RevenueCat rereads", worker.run)])
  }

  /// What an operator should know about the settings.
  public static func check(_ settings: Settings) -> [ConfigurationFinding] { BillingKeys.findings(settings) }
}

internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import GoogleProvider
internal import Limits
internal import Logging
internal import OpenID
internal import Pages
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit

/// The broker, put together: Google behind its ports, the database behind its limits and its audit.
struct TokenBroker: Sendable {
  let pipeline: BrokerPipeline
  private let keys: JWKSCache
  private let cloud: CloudIdentity
  private let switches: KillSwitchStore
  private let watch: KillSwitchWatch
  private let pages: PageKeyStore
  private let context: ServiceContext

  init(_ context: ServiceContext, _ providers: IdentityProviders, pages: PageKeyStore) throws {
    self.pages = pages
    let settings = context.settings
    let loops = context.loops.loops
    let now = context.now
    let clock = providers.clock
    keys = providers.googleKeys
    let policy = GoogleIDTokenPolicy(
      issuer: settings[BrokerKeys.issuer], audiences: settings[BrokerKeys.clientIDs],
      clockSkew: .seconds(settings[BrokerKeys.clockSkewSeconds]))
    cloud = try CloudIdentity(context, clock)
    switches = KillSwitchStore(context.database)
    watch = KillSwitchWatch(switches)
    let limits = RateLimitStore.auth(context.database, loops: loops)
    let salt = settings[BrokerKeys.subjectSalt].map { SaltedSubjects.Salt.given(Array($0.utf8)) }
    pipeline = BrokerPipeline(
      rules: Self.rules(settings, providers.apps),
      tokens: GoogleIdentities(verifier: GoogleIDTokenVerifier(policy, keys: keys, loops: loops, clock: clock)),
      limits: SharedLimits(store: limits),
      subjects: SaltedSubjects(salt: salt ?? .stored(SubjectSaltStore(context.database))),
      cloud: cloud.tokens(now: now),
      audit: DurableAudit(store: IssuanceStore(context.database, loops: loops), limits: limits), stops: watch,
      journal: BrokerJournal(context.log, context.metrics), now: now)
    self.context = context
  }

  /// Ends the start when a capability has the broker's own account.
  func checkOwnAccount() async throws { try await cloud.checkOwnAccount() }

  /// What it serves and what runs beside it.
  var parts: ServiceParts {
    context.health.set(Self.keysCondition, holds: false)
    return ServiceParts(
      services: [
        TokenBrokerService.routes(TokenBrokerHandlers(broker: pipeline, proxies: context.proxies)),
        BrokerAdminService.routes(admin),
      ],
      // The order of the broker's work is a contract: the limit by address comes before any look at the token.
      guards: [.googleIDToken: .handlers],
      http: BrokerHTTPRoutes(broker: pipeline, proxies: context.proxies).routes,
      jobs: [
        BackgroundJob("first keys", fetchFirstKeys), BackgroundJob("limit sweep", sweep.run),
        BackgroundJob("kill switches", watchSwitches),
      ])
  }

  private var admin: BrokerAdminHandlers {
    BrokerAdminHandlers(
      ledger: LedgerStore(context.database), switches: switches, watch: watch, pages: pages, subjects: pipeline.subjects,
      capabilities: pipeline.rules.capabilities.names, now: pipeline.now, log: context.log)
  }

  // MARK: Jobs

  private static let keysCondition = "keys"

  /// Ready once there are keys: before that every caller would be sent away.
  @Sendable private func fetchFirstKeys() async throws {
    let loop = context.loops.loops[0]
    while true {
      do throws(KeysError) {
        try await keys.warmUp()
        return context.health.set(Self.keysCondition, holds: true)
      } catch {
        // The cache spaces its fetches by itself.
        try await loop.sleep(for: .milliseconds(500))
      }
    }
  }

  @Sendable private func watchSwitches() async throws { try await watch.run(on: context.loops.loops[0], context.log) }

  private var sweep: LimitSweepJob {
    let loop = context.loops.loops[0]
    return LimitSweepJob(
      buckets: RateLimitSweep(schema: "auth", context.database), counts: CapabilityUseSweep(context.database),
      idle: .seconds(60 * context.settings[BrokerKeys.cleanupMinutes]), now: pipeline.now,
      sleep: { try await loop.sleep(for: $0) }, log: context.log)
  }

  // MARK: Parts

  private static func rules(_ settings: Settings, _ apps: AppCatalogue) -> BrokerPipeline.Rules {
    let scopes = settings[BrokerKeys.tokenScope].split(separator: " ").map(String.init)
    return .init(
      addressLimit: RateLimit(perMinute: settings[BrokerKeys.addressPerMinute], burst: settings[BrokerKeys.addressBurst]),
      userLimit: RateLimit(perMinute: settings[BrokerKeys.userPerMinute], burst: settings[BrokerKeys.userBurst]),
      gate: DomainGate(settings[BrokerKeys.allowedDomain]), gatesWhoAmI: settings[BrokerKeys.gatesWhoAmI],
      capabilities: capabilities(settings, scopes),
      apps: apps.all.reduce(into: [:]) { apps, app in
        for audience in app.google.audiences { apps[audience, default: []].append(app.name) }
      })
  }

  private static func capabilities(_ settings: Settings, _ defaultScopes: [String]) -> CapabilityCatalogue {
    let own = Dictionary(settings[CloudKeys.capabilityIssuesPerDay].map { ($0.name, $0.perDay) }) { first, _ in first }
    func cap(_ name: String) -> Int? {
      let perDay = own[name] ?? settings[CloudKeys.issuesPerDay]
      return perDay == 0 ? nil : perDay
    }
    return CapabilityCatalogue(
      defaultScopes: defaultScopes, defaultPerDay: cap(CapabilityCatalogue.defaultName),
      named: settings[CloudKeys.capabilities].map {
        // The one scope that Speech-to-Text and Gemini both take; what it opens is what the account may do.
        Capability(name: $0.name, scopes: [Impersonation.callerScope], account: $0.account, perDay: cap($0.name))
      })
  }
}

internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import GoogleProvider
internal import Logging
internal import OpenID
internal import ParleyAPI
internal import RPC
internal import RPCServer
internal import ServiceKit

/// The broker, put together: Google behind its ports, the database behind its limits and its audit.
struct TokenBroker: Sendable {
  let pipeline: BrokerPipeline
  private let keys: JWKSCache
  private let sweep: RateLimitSweep
  private let context: ServiceContext

  init(_ context: ServiceContext, _ providers: IdentityProviders) throws {
    let settings = context.settings
    let loops = context.loops.loops
    let wall = context.clock
    let now: @Sendable () -> Moment = { Moment(seconds: 0).advanced(by: wall.now()) }
    let clock = providers.clock
    keys = providers.googleKeys
    let policy = GoogleIDTokenPolicy(
      issuer: settings[BrokerKeys.issuer], audiences: settings[BrokerKeys.clientIDs],
      clockSkew: .seconds(settings[BrokerKeys.clockSkewSeconds]))
    let salt = settings[BrokerKeys.subjectSalt].map { SaltedSubjects.Salt.given(Array($0.utf8)) }
    pipeline = BrokerPipeline(
      rules: Self.rules(settings),
      tokens: GoogleIdentities(verifier: GoogleIDTokenVerifier(policy, keys: keys, loops: loops, clock: clock)),
      limits: SharedLimits(store: RateLimitStore(context.database, loops: loops)),
      subjects: SaltedSubjects(salt: salt ?? .stored(SubjectSaltStore(context.database))),
      cloud: GoogleAccessTokens(source: try Self.source(context, clock), monotonic: clock.now, now: now),
      audit: DurableAudit(store: IssuanceStore(context.database, loops: loops)), journal: BrokerJournal(context.log), now: now)
    sweep = RateLimitSweep(context.database)
    self.context = context
  }

  /// What it serves and what runs beside it.
  var parts: ServiceParts {
    context.health.set(Self.keysCondition, holds: false)
    return ServiceParts(
      services: [TokenBrokerService.routes(TokenBrokerHandlers(broker: pipeline, proxies: context.proxies))],
      // The order of the broker's work is a contract: the limit by address comes before any look at the token.
      guards: [.googleIDToken: .handlers],
      http: BrokerHTTPRoutes(broker: pipeline, proxies: context.proxies).routes,
      jobs: [BackgroundJob("first keys", fetchFirstKeys), BackgroundJob("limit sweep", sweepLimits)])
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

  @Sendable private func sweepLimits() async throws {
    let idle = Duration.seconds(60 * context.settings[BrokerKeys.cleanupMinutes])
    while true {
      try await context.loops.loops[0].sleep(for: idle / 2)
      do {
        let removed = try await sweep.remove(idleSince: pipeline.now().advanced(by: .zero - idle))
        context.log.debug("idle limits removed", metadata: ["count": "\(removed)"])
      } catch {
        context.log.warning("idle limits not removed", metadata: ["cause": "\(error)"])
      }
    }
  }

  // MARK: Parts

  private static func rules(_ settings: Settings) -> BrokerPipeline.Rules {
    let scopes = settings[BrokerKeys.tokenScope].split(separator: " ").map(String.init)
    return .init(
      addressLimit: RateLimit(perMinute: settings[BrokerKeys.addressPerMinute], burst: settings[BrokerKeys.addressBurst]),
      userLimit: RateLimit(perMinute: settings[BrokerKeys.userPerMinute], burst: settings[BrokerKeys.userBurst]),
      gate: DomainGate(settings[BrokerKeys.allowedDomain]), gatesWhoAmI: settings[BrokerKeys.gatesWhoAmI],
      capabilities: CapabilityCatalogue(defaultScopes: scopes))
  }

  private static func source(_ context: ServiceContext, _ clock: ProviderClock) throws -> any CloudTokenSource {
    let settings = context.settings
    let minter = ServiceAccountMinter(
      try ServiceAccountKey(json: settings[BrokerKeys.serviceAccount]), tokenURI: settings[BrokerKeys.tokenURI],
      timeout: settings[BrokerKeys.mintTimeout], over: context.outbound, clock: clock, log: context.log)
    guard settings[BrokerKeys.cachesTokens] else { return minter }
    return MintCache(
      minter, minimumRemaining: settings[BrokerKeys.minimumRemaining], on: context.loops.loops[0], clock: clock)
  }
}

internal import EventLoop
internal import HTTP2
internal import Logging
internal import OpenID
internal import Outbound
internal import RPCClient
public import ServiceKit
internal import Telemetry

/// People with sessions, as a service that is not auth lets them in: keys and revocations from the auth service, put together.
public struct ParleySessions: Sendable {
  /// The guard of methods of SESSION access.
  public let authenticator: SessionAuthenticator
  /// Who has paid.
  public let entitlements: AskedEntitlements
  /// The guard of what only those are served who have paid.
  public let subscriptions: SubscriptionAuthenticator
  /// What hears of sessions that have ended.
  public let revocations: WatchedRevocations
  /// What runs beside the server.
  public let jobs: [BackgroundJob]

  /// Nil where the setting `authAddress` is not given.
  ///
  /// - Throws: ``ServiceKit/ConfigurationError`` when the certificate or the roots cannot be used.
  public init?(_ context: ServiceContext) throws {
    let settings = context.settings
    guard let address = settings[AuthServiceKeys.address] else { return nil }
    let loop = context.loops.loops[0]
    let wall = context.clock
    let clock = ProviderClock.system(on: loop) { wall.unixSeconds }

    var configuration = ClientChannelConfiguration()
    configuration.userAgent = "parley-\(settings.service)"
    if address.isSecure {
      configuration.tls = try ServiceCredential.tls(settings, AuthServiceKeys.clientCertificate, AuthServiceKeys.clientKey)
    }
    let channel = ClientChannel(to: address.target, on: context.loops, configuration: configuration)
    let revocations = WatchedRevocations(over: channel, on: loop, log: context.log, unixSeconds: { wall.unixSeconds })

    let url = settings[AuthServiceKeys.keySetURL] ?? address.configurationText + "/.well-known/jwks.json"
    let cache = JWKSCache(
      .keySet(url: url), policy: KeyPolicy(), over: context.outbound, on: loop, clock: clock, log: context.log,
      named: "parley", metrics: context.metrics)
    self.revocations = revocations
    entitlements = AskedEntitlements(over: channel, clock: wall)
    authenticator = SessionAuthenticator(
      SessionPolicy(
        issuer: settings[AuthServiceKeys.issuer], audience: settings[AuthServiceKeys.audience],
        leeway: settings[AuthServiceKeys.leeway]),
      keys: FetchedSessionKeys(cache), revocations: revocations, loops: context.loops.loops, clock: wall,
      metrics: context.metrics)
    subscriptions = SubscriptionAuthenticator(authenticator, entitlements)
    jobs = [
      BackgroundJob("revocations") {
        do { try await revocations.run() } catch {
          await channel.close()
          throw error
        }
      },
      BackgroundJob("session keys") {
        // Ahead of the callers, who would otherwise wait for the fetch.
        while true {
          try? await cache.warmUp()
          try await loop.sleep(for: .seconds(5))
        }
      },
    ]
    Self.describe(context.metrics, cache, revocations)
  }

  private static func describe(_ metrics: PrometheusRegistry, _ cache: JWKSCache, _ revocations: WatchedRevocations) {
    metrics.gauge(
      "parley_session_keys_stale_seconds", help: "For how long the keys of access tokens should have been fetched again."
    ) { cache.staleness / .seconds(1) }
    metrics.gauge("parley_session_keys_fetch_failures", help: "Fetches of the keys of access tokens that failed in a row.") {
      Double(cache.failuresInARow)
    }
    metrics.gauge("parley_revocations_silence_seconds", help: "For how long nothing was heard of sessions that end.") {
      min(revocations.memory.silence / .seconds(1), 1e9)
    }
    metrics.gauge("parley_revocations_remembered", help: "Sessions that have ended and are remembered.") {
      Double(revocations.memory.size)
    }
  }
}

internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Logging
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit

/// Sign-in, sessions and accounts, put together.
struct Accounts: Sendable {
  private let rules: AccountRules
  /// What serves people's own calls.
  let handlers: AccountHandlers
  private let directory: SessionDirectoryHandlers
  private let feed: PolledRevocations
  /// The guard of the service's own methods.
  let authenticator: SessionAuthenticator
  private let sweep: AccountSweep
  private let context: ServiceContext
  private let now: @Sendable () -> Moment

  init(_ context: ServiceContext, _ providers: IdentityProviders, _ keys: SigningKeys) {
    let (settings, loops, database, wall) = (context.settings, context.loops.loops, context.database, context.clock)
    let now = context.now
    let rules = Self.rules(settings)
    let journal = AccountJournal(context.log)
    let limits = AccountLimits(limits: SharedLimits(store: RateLimitStore(database, loops: loops)))
    let issuer = SessionIssuer(signer: keys.signer)
    let (pepper, accounts, activity) = (RefreshPepperStore(database), AccountStore(database), ActivityStore(database))
    let sessions = SessionStore(database, tokensOutlive: AccountRules.tokensOutlive)
    let revocations = RevocationStore(database)
    handlers = AccountHandlers(
      rules: rules,
      signIn: SignInFlow(
        rules: rules, apps: providers.apps, verifier: { providers.verifier($0, for: $1) }, store: SignInStore(database),
        accounts: accounts, activity: activity, pepper: pepper, limits: limits, issuer: issuer, journal: journal, now: now),
      refreshing: RefreshFlow(
        rules: rules, apps: providers.apps, store: sessions, pepper: pepper, limits: limits, issuer: issuer, journal: journal,
        now: now),
      accounts: accounts, sessions: sessions, activity: activity, limits: limits, journal: journal,
      calls: AccountCalls(journal: journal, proxies: context.proxies), now: now)
    directory = SessionDirectoryHandlers(
      revocations: revocations, sessions: sessions, loops: loops, interval: settings[AccountKeys.revocationInterval], now: now)
    feed = PolledRevocations(
      StoredRevocations(revocations: revocations, sessions: sessions, now: now), log: context.log,
      unixSeconds: { wall.unixSeconds })
    authenticator = keys.authenticator(feed)
    sweep = AccountSweep(database)
    (self.rules, self.context, self.now) = (rules, context, now)
  }

  /// What it serves and what runs beside it.
  var parts: ServiceParts {
    ServiceParts(
      services: [ParleyAPI.AuthService.routes(handlers), directoryRoutes],
      jobs: [BackgroundJob("revocations", readRevocations), BackgroundJob("account sweep", sweepAccounts)])
  }

  /// A watcher stays as long as it likes, and must not hold up a server that drains.
  private var directoryRoutes: ServiceRoutes {
    var routes = SessionDirectoryService.routes(directory)
    for index in routes.methods.indices where routes.methods[index].method.kind == .serverStreaming {
      routes.methods[index].endsWithServer = true
    }
    return routes
  }

  // MARK: Jobs

  @Sendable private func readRevocations() async throws { try await feed.run(on: context.loops.loops[0]) }

  @Sendable private func sweepAccounts() async throws {
    let settings = context.settings
    while true {
      try await context.loops.loops[0].sleep(for: settings[AccountKeys.sweepInterval])
      do {
        let now = now()
        let removed = [
          "nonces": try await sweep.removeNonces(expiredBefore: now),
          "tokens": try await sweep.removeExchangedTokens(expiredBefore: now),
          "revocations": try await sweep.removeRevocations(irrelevantBefore: now),
          "sessions": try await sweep.removeSessions(
            overBefore: now.advanced(by: .zero - settings[AccountKeys.endedRetention])),
        ]
        context.log.debug("what has run out removed", metadata: removed.mapValues { "\($0)" })
      } catch {
        context.log.warning("what has run out not removed", metadata: ["cause": "\(error)"])
      }
    }
  }

  // MARK: Parts

  private static func rules(_ settings: Settings) -> AccountRules {
    var rules = AccountRules()
    rules.signInLimit = RateLimit(
      perMinute: settings[AccountKeys.signInPerMinute], burst: settings[AccountKeys.signInBurst])
    rules.refreshAddressLimit = RateLimit(
      perMinute: settings[AccountKeys.refreshAddressPerMinute], burst: settings[AccountKeys.refreshAddressBurst])
    rules.refreshLimit = RateLimit(
      perMinute: settings[AccountKeys.refreshPerMinute], burst: settings[AccountKeys.refreshBurst])
    rules.refresh = RefreshRules(
      idleLifetime: settings[AccountKeys.idleLifetime], wholeLifetime: settings[AccountKeys.wholeLifetime],
      raceWindow: settings[AccountKeys.raceWindow])
    return rules
  }
}

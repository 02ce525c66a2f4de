internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Limits
internal import Logging
internal import Pages
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit
internal import Telemetry
internal import Values

/// Sign-in, sessions and accounts, put together.
struct Accounts: Sendable {
  private let rules: AccountRules
  /// What serves people's own calls.
  let handlers: AccountHandlers
  private let directory: SessionDirectoryHandlers
  private let admin: UserAdminHandlers
  private let journal: AccountJournal
  private let feed: PolledRevocations
  /// The guard of the service's own methods.
  let authenticator: SessionAuthenticator
  private let pepper: RefreshPeppers
  private let sweep: AccountSweep
  private let context: ServiceContext
  private let now: @Sendable () -> Instant

  init(
    _ context: ServiceContext, _ providers: IdentityProviders, _ keys: SigningKeys, _ grants: AppleGrants?,
    subjects: any SubjectHashing, pages: PageKeyStore
  ) {
    let (settings, loops, database, wall) = (context.settings, context.loops.loops, context.database, context.clock)
    let now = context.now
    let rules = Self.rules(settings)
    let journal = AccountJournal(context.log, context.metrics)
    let limits = AccountLimits(store: .auth(database, loops: loops))
    let issuer = SessionIssuer(signer: keys.signer)
    let (accounts, activity) = (AccountStore(database), ActivityStore(database))
    pepper = RefreshPeppers(
      RefreshPepperStore(database), sealedWith: keys.sealing,
      PepperPlan(period: settings[AccountKeys.pepperPeriod], tokenLifetime: settings[AccountKeys.idleLifetime]),
      log: context.log, now: now)
    let sessions = SessionStore(database, tokensOutlive: AccountRules.tokensOutlive)
    let revocations = RevocationStore(database)
    let calls = JournalledCalls(journal: journal, proxies: context.proxies)
    handlers = AccountHandlers(
      signIn: SignInFlow(
        rules: rules, apps: providers.apps, verifier: { providers.verifier($0, for: $1) }, store: SignInStore(database),
        accounts: accounts, activity: activity, pepper: pepper, limits: limits, issuer: issuer, grants: grants, journal: journal,
        now: now),
      refreshing: RefreshFlow(
        rules: rules, apps: providers.apps, store: sessions, accounts: accounts, pepper: pepper, limits: limits, issuer: issuer,
        journal: journal, now: now),
      accounts: accounts, sessions: sessions, activity: activity, journal: journal, calls: calls, pages: pages, now: now)
    directory = SessionDirectoryHandlers(
      revocations: revocations, sessions: sessions, loops: loops, interval: settings[AccountKeys.revocationInterval], now: now)
    admin = UserAdminHandlers(
      apps: providers.apps, users: UserDirectory(database), suspensions: SuspensionStore(database, sessions: sessions),
      sessions: sessions, audit: AuditStore(database), subjects: subjects, journal: journal,
      calls: calls, pages: pages, now: now, log: context.log)
    let feed = PolledRevocations(
      StoredRevocations(revocations: revocations, sessions: sessions, now: now), log: context.log,
      unixSeconds: { wall.unixSeconds })
    context.metrics.gauge(
      "parley_revocations_silence_seconds", help: "For how long nothing was heard of sessions that end."
    ) { min(feed.memory.silence / .seconds(1), 1e9) }
    authenticator = keys.authenticator(feed)
    sweep = AccountSweep(database)
    (self.rules, self.context, self.now, self.feed, self.journal) = (rules, context, now, feed, journal)
  }

  /// What it serves and what runs beside it.
  var parts: ServiceParts {
    ServiceParts(
      services: [ParleyAPI.AuthService.routes(handlers), directoryRoutes, UserAdminService.routes(admin)],
      jobs: [
        BackgroundJob("revocations", readRevocations), BackgroundJob("account sweep", sweepAccounts),
        BackgroundJob("refresh peppers", rotatePeppers),
      ])
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

  /// Reads what refresh tokens are made with, and makes the first.
  ///
  /// - Throws: When it cannot be read, or the key-encryption keys do not open it.
  func warmUp() async throws { try await pepper.refresh() }

  /// Whether or not anybody refreshes: what another key has sealed is sealed anew before that key is taken away.
  @Sendable private func rotatePeppers() async throws {
    while true {
      try await context.loops.loops[0].sleep(for: RefreshPeppers.rereadInterval)
      do { try await pepper.refresh() } catch {
        try Task.checkCancellation()
        context.log.error("peppers of refresh tokens not read", metadata: ["cause": "\(error)"])
      }
    }
  }

  @Sendable private func readRevocations() async throws { try await feed.run(on: context.loops.loops[0]) }

  @Sendable private func sweepAccounts() async throws {
    let settings = context.settings
    // Sessions that ran out before are marked by then; a copy that starts looks at all of them once.
    var markedUntil = Instant(seconds: 0)
    while true {
      try await context.loops.loops[0].sleep(for: settings[AccountKeys.sweepInterval])
      do {
        let now = now()
        journal.sessionsEnded(try await sweep.endSessions(expiredSince: markedUntil, until: now), .expired)
        // An hour's grace, for copies whose clocks are ahead and for statements that were under way.
        markedUntil = now.advanced(by: .seconds(-3600))
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

internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Jobs
internal import Logging
internal import ParleyAPI
internal import ParleyProvider
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit
internal import Values

/// Exports and deletions of accounts, put together.
struct AccountData: Sendable {
  private let handlers: AccountServiceHandlers
  private let own: OwnAccountData
  private let worker: AccountWorker
  private let work: AccountWorkStore
  private let queue: QueuedAccountWork
  private let services: AccountDataServices
  private let rules: AccountDataRules
  private let context: ServiceContext
  private let now: @Sendable () -> Instant

  /// - Parameters:
  ///   - context: The process.
  ///   - accounts: Sign-in and sessions.
  ///   - providers: The apps.
  ///   - subjects: How the broker's ledger knows people.
  ///   - revokers: What is withdrawn at providers when an account is deleted.
  ///   - jobs: Who does the work.
  init(
    _ context: ServiceContext, _ accounts: Accounts, _ providers: IdentityProviders, subjects: any SubjectHashing,
    revokers: [any ProviderGrantRevoking], jobs: PostgreSQLJobs
  ) throws(ConfigurationError) {
    let (settings, database, now) = (context.settings, context.database, context.now)
    let rules = Self.rules(settings)
    let answerTime = settings[AccountDataKeys.answerTime]
    services = try AccountDataServices(
      settings[AccountDataKeys.services], certificate: AccountDataKeys.certificate, key: AccountDataKeys.key, context,
      patience: .init(export: answerTime * 10, answer: answerTime))
    let plan = AccountWorkPlan(services: services.peers.map(\.name), providers: revokers.map(\.provider))
    let people = accounts.handlers
    let queue = QueuedAccountWork(engine: jobs)
    let work = AccountWorkStore(database, sessions: people.sessions, queue: queue)
    let own = OwnAccountData(
      store: AccountDataStore(database, jobs: jobs.queue), apps: providers.apps, subjects: subjects, now: now)
    worker = AccountWorker(
      store: work, own: own,
      services: Dictionary(uniqueKeysWithValues: services.peers.map { ($0.name, $0.data) }), revokers: revokers, plan: plan,
      rules: rules, journal: AccountWorkJournal(context.log, context.metrics), now: now)
    handlers = AccountServiceHandlers(
      rules: rules, plan: plan,
      reauthentication: ReauthenticationFlow(
        rule: rules.stepUp, signIn: people.signIn, store: people.signIn.store, issuer: people.signIn.issuer, now: now),
      work: work, pepper: people.signIn.pepper, limits: people.signIn.limits, calls: people.calls, journal: people.journal,
      now: now)
    (self.rules, self.work, self.queue, self.own, self.context, self.now) = (rules, work, queue, own, context, now)
  }

  /// What it serves and what runs beside it.
  var parts: ServiceParts {
    ServiceParts(
      services: [AccountService.routes(handlers)],
      jobs: [BackgroundJob("account work sweep", tend)])
  }

  /// What is done with its jobs.
  var jobHandlers: JobHandlers { AccountJobs.handlers(worker) }

  // MARK: Jobs

  /// Ends after the queue's worker, which asks the other services.
  @Sendable private func tend() async throws {
    do { try await sweep() } catch {
      await services.close()
      throw error
    }
  }

  /// Removes what has run out, and counts what should have ended.
  private func sweep() async throws {
    let settings = context.settings
    while true {
      do {
        let now = now()
        worker.journal.overdue(try await work.overdue(since: now.advanced(by: .zero - rules.overdueAfter)))
        // What somebody has purged from the queue, or what died there by a defect, is still owed to people.
        for owed in try await work.running(since: now.advanced(by: .zero - rules.overdueAfter)) {
          guard try await queue.enqueueAgain(owed.work, owed.kind, of: owed.user) else { continue }
          context.log.warning("work on an account had no job, and has one again", metadata: ["work": "\(owed.work)"])
        }
        let exports = try await work.removeExports(
          expiredBefore: now, failedBefore: now.advanced(by: .zero - rules.exportRetention))
        let deletions = try await work.removeDeletions(doneBefore: now.advanced(by: .zero - rules.receiptRetention))
        context.log.debug(
          "account work that has run out removed", metadata: ["exports": "\(exports)", "deletions": "\(deletions)"])
      } catch {
        try Task.checkCancellation()
        context.log.warning("account work that has run out not removed", metadata: ["cause": "\(error)"])
      }
      try await context.loops.loops[0].sleep(for: settings[AccountKeys.sweepInterval])
    }
  }

  // MARK: Parts

  private static func rules(_ settings: Settings) -> AccountDataRules {
    var rules = AccountDataRules()
    rules.stepUp = StepUpRule(maximumAge: settings[AccountDataKeys.stepUpAge])
    rules.exportLimit = Int64(settings[AccountDataKeys.exportLimit])
    rules.exportRetention = settings[AccountDataKeys.exportRetention]
    rules.downloadedRetention = min(rules.downloadedRetention, rules.exportRetention)
    rules.receiptRetention = settings[AccountDataKeys.receiptRetention]
    rules.overdueAfter = settings[AccountDataKeys.overdueAfter]
    return rules
  }
}

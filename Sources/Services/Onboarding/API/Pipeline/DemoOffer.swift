internal import Jobs
internal import Logging
internal import OnboardingStore
internal import PostgreSQL
internal import Values

/// Which product somebody has subscribed to.
protocol ProductAsking: Sendable {
  /// The product of a running subscription, as the store calls it; nil where none runs.
  ///
  /// - Throws: Anything where nobody can say.
  func product(of user: UUID) async throws -> String?
}

/// The demo call at the end of onboarding: rung once for a person, however often answers are submitted, and for the normal plan only.
///
/// A job of its own, so that no submission waits for whoever knows the plan.
struct DemoOffer: Sendable {
  let database: Database
  let effects: EffectStore
  let products: any ProductAsking
  /// The products of the starter plan.
  let starterProducts: Set<String>
  let jobs: any JobEngine
  let log: Logger
  let now: @Sendable () -> Instant

  /// Who offers it.
  var handlers: JobHandlers {
    var handlers = JobHandlers()
    handlers.handle(OnboardingJobs.offerDemo) { user, run in try await offer(to: user, run) }
    return handlers
  }

  private func offer(to user: UUID, _ run: JobRun) async throws {
    let product: String?
    do { product = try await products.product(of: user) } catch {
      try Task.checkCancellation()
      log.warning("whose plan it is cannot be asked", metadata: ["user": "\(user)", "cause": "\(error)"])
      throw JobFailure.unavailable("the plan is not known")
    }
    // Who has not subscribed by now, or to less, may have it with a later submission.
    guard let product, !starterProducts.contains(product) else { return }
    try await database.transaction { transaction in
      try await run.fence(in: transaction)
      if try await effects.enter(.demoCall, of: user, at: now(), in: transaction) {
        try await jobs.enqueue(try HeldJobs.demoCall(of: user), in: transaction)
      }
      try await run.finish(in: transaction)
    }
  }
}

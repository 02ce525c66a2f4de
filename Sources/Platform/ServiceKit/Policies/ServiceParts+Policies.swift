internal import EventLoop
internal import Idempotency
public import Limits
internal import Logging
internal import Values

extension ServiceParts {
  /// What the options of methods stand on, in the service's own schema: buckets for limits, and answers for repeated requests; and the jobs
  /// that remove what has run out.
  ///
  /// ```swift
  /// Migration(2, "create_rate_limits", RateLimitMigration.create(schema: "notebook", role: "parley_notebook")),
  /// Migration(3, "create_idempotency", IdempotencyMigration.create(schema: "notebook", role: "parley_notebook")),
  /// …
  /// ServiceParts(joining: [.policies(schema: "notebook", context), ServiceParts(services: …)])
  /// ```
  ///
  /// - Parameters:
  ///   - schema: The service's schema, which has had both migrations.
  ///   - context: What the service is built from.
  ///   - isGone: Whether a person's account is gone, as ``Limits/RateLimitStore`` takes it; nil for a service that keeps nothing of people.
  public static func policies(
    schema: StaticString, _ context: ServiceContext, unlessGone isGone: RateLimitStore.GoneCondition? = nil
  ) -> ServiceParts {
    let sweep = RateLimitSweep(schema: schema, context.database)
    var parts = answers(schema: schema, context)
    parts.limiter = RateLimitStore(schema: schema, context.database, loops: context.loops.loops, unlessGone: isGone)
    parts.jobs.append(
      BackgroundJob("rate limit sweep") {
        // No bucket takes longer than a day to fill, so what is removed was full.
        try await every(sweepInterval, context, "idle rate limits") { now in
          try await sweep.remove(idleFor: .seconds(86_400), at: now)
        }
      })
    return parts
  }

  /// The answers alone, for a service that has buckets of its own.
  public static func answers(schema: StaticString, _ context: ServiceContext) -> ServiceParts {
    let store = IdempotencyStore(schema: schema, context.database)
    var parts = ServiceParts()
    parts.answers = store
    parts.jobs = [
      BackgroundJob("idempotency sweep") {
        try await every(sweepInterval, context, "kept answers") { now in try await store.removeExpired(at: now) }
      }
    ]
    return parts
  }

  private static var sweepInterval: Duration { .seconds(60) }

  private static func every(
    _ interval: Duration, _ context: ServiceContext, _ what: String,
    _ remove: @Sendable (Instant) async throws -> Int
  ) async throws {
    while true {
      try await context.loops.loops[0].sleep(for: interval)
      do {
        let count = try await remove(Instant(context.clock))
        context.log.debug("\(what) removed", metadata: ["count": "\(count)"])
      } catch {
        context.log.warning("\(what) not removed", metadata: ["cause": "\(error)"])
      }
    }
  }
}

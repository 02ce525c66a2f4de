internal import EventLoop
internal import Limits
internal import Logging
internal import PostgreSQL
public import RPC
internal import Telemetry

/// The limits per account of a method, for those who have what it does done by another way than its calls: a path of plain HTTP.
///
/// The buckets and their rates are those of the calls, so that both ways together come to no more than one.
public struct MethodBudget: Sendable {
  private let limits: [RateLimitInterceptor.Limit]
  private let limiter: any RateLimiter
  private let clock: WallClock
  private let log: Logger

  /// The limits of a method, with the numbers that an operator has set in their place (``StandardKeys/rateLimits``).
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - limiter: Where its calls are counted.
  ///   - context: What the service is built from.
  public init(of method: MethodInfo, _ limiter: any RateLimiter, _ context: ServiceContext) {
    let rates = MethodPolicies.rates([method], context.settings[StandardKeys.rateLimits])
    limits = (method.policy?.limits ?? []).filter { $0.sharing == .user }.map { limit in
      RateLimitInterceptor.Limit(limit, rates[limit.name], context.metrics)
    }
    self.limiter = limiter
    clock = context.clock
    log = context.log
  }

  /// Takes a token from each bucket of a caller's.
  ///
  /// - Throws: What a call is answered: RESOURCE_EXHAUSTED (429) with the time to come again, or UNAVAILABLE while nobody can count.
  public func take(for caller: Caller) async throws {
    let now = Timestamp(clock)
    for limit in limits {
      guard let answer = try await limit.take(caller.userID.description, from: limiter, at: now, log),
        let until = answer.refusedUntil
      else { continue }
      limit.refused.increment()
      let standing = LimitStanding(burst: limit.rate.burst, answer: answer, now: now)
      throw PolicyRefusal.limited(.user).rpcError(
        retryAfter: .seconds(max(1, LimitStanding.seconds(until, now))), hints: ["limit": limit.limit.name],
        metadata: standing.fields)
    }
  }
}

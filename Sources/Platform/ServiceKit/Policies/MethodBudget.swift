internal import EventLoop
internal import Limits
internal import Logging
public import RPC
internal import Telemetry
internal import Values

/// Limits for those who have something done by another way than calls: a path of plain HTTP.
///
/// The buckets and the rates of a method's are those of its calls, so that both ways together come to no more than one.
public struct MethodBudget: Sendable {
  private let limits: [RateLimitInterceptor.Limit]
  private let limiter: any RateLimiter
  private let clock: WallClock
  private let log: Logger

  /// The limits of a method.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - limiter: Where its calls are counted.
  ///   - context: What the service is built from.
  public init(of method: MethodInfo, _ limiter: any RateLimiter, _ context: ServiceContext) {
    self.init(method.policy?.limits ?? [], limiter, context)
  }

  /// Limits of a path's own (``Service/limits``), with the numbers that an operator has set in their place
  /// (``StandardKeys/rateLimits``).
  ///
  /// - Parameters:
  ///   - limits: The limits.
  ///   - limiter: Where they are counted.
  ///   - context: What the service is built from.
  public init(_ limits: [MethodLimit], _ limiter: any RateLimiter, _ context: ServiceContext) {
    let rates = MethodPolicies.rates(limits, context.settings[StandardKeys.rateLimits])
    self.limits = limits.map { RateLimitInterceptor.Limit($0, rates[$0.name], context.metrics) }
    self.limiter = limiter
    clock = context.clock
    log = context.log
  }

  /// Takes a token from each bucket of a caller's.
  ///
  /// - Throws: What a call is answered: RESOURCE_EXHAUSTED (429) with the time to come again, or UNAVAILABLE while nobody can count.
  public func take(for caller: Caller) async throws { try await take(.user, caller.userID.description) }

  /// Takes a token from each bucket of an address.
  ///
  /// - Throws: As ``take(for:)``.
  public func take(from address: ClientAddress) async throws { try await take(.address, address.limitKey) }

  private func take(_ sharing: MethodLimit.Sharing, _ subject: String) async throws {
    let now = Instant(clock)
    for limit in limits where limit.limit.sharing == sharing {
      guard let answer = try await limit.take(subject, from: limiter, at: now, log), let until = answer.refusedUntil else {
        continue
      }
      limit.refused.increment()
      let standing = LimitStanding(burst: limit.rate.burst, answer: answer, now: now)
      throw PolicyRefusal.limited(sharing).rpcError(
        retryAfter: .seconds(max(1, LimitStanding.seconds(until, now))), hints: ["limit": limit.limit.name],
        metadata: standing.fields)
    }
  }
}

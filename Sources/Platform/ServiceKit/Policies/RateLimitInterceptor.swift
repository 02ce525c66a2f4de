internal import Limits
internal import Logging
internal import PostgreSQL
public import RPC
internal import Telemetry
internal import Values

/// The option `(parley.options.v1.rate_limit)`, enforced: a call takes a token from each of its method's buckets.
///
/// A refusal is RESOURCE_EXHAUSTED (429) and says when to come again. What is left of the tightest bucket is told with every answer. Limits
/// by address stand before the method's guard, all others behind it.
public struct RateLimitInterceptor: ServerInterceptor {
  /// One limit with the numbers that hold.
  struct Limit: Sendable {
    let limit: MethodLimit
    let rate: BucketRate
    let refused: PrometheusCounter
    let unavailable: PrometheusCounter

    /// A limit; `rate` is nil where nobody has set another than its own.
    init(_ limit: MethodLimit, _ rate: BucketRate?, _ registry: PrometheusRegistry) {
      self.limit = limit
      self.rate = rate ?? BucketRate(perMinute: limit.perMinute, burst: limit.burst)
      let labels = [("limit", limit.name)]
      refused = registry.counter(
        "parley_rate_limited_total", help: "Calls refused by a limit of their method.", labels: labels)
      unavailable = registry.counter(
        "parley_rate_limit_unavailable_total", help: "Calls that could not be counted.", labels: labels)
    }

    /// What the bucket of `subject` says; nil when nobody can say and the limit fails open.
    func take(
      _ subject: String, from limiter: any RateLimiter, at now: Instant, _ log: Logger
    ) async throws -> BucketAnswer? {
      let key = "\(limit.name):\(subject)"
      do {
        return try await limit.failsOpen ? limiter.takeFromMemory(key, rate, at: now) : limiter.take(key, rate, at: now)
      } catch {
        if let error = error as? DatabaseError, error.category == .cancelled {
          throw RPCError(.cancelled, "the call was cancelled")
        }
        if error is CancellationError { throw error }
        unavailable.increment()
        guard !limit.failsOpen else {
          log.warning("not counted", metadata: ["limit": "\(limit.name)", "cause": "\(error)"])
          return nil
        }
        throw PolicyRefusal.limiterUnavailable.rpcError(cause: error)
      }
    }
  }

  let limits: [Limit]
  let limiter: any RateLimiter
  let proxies: TrustedProxies
  let clock: WallClock
  let log: Logger

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let now = Instant(clock)
    for limit in limits {
      let subject = try subject(of: limit.limit, call)
      guard let answer = try await limit.take(subject, from: limiter, at: now, log) else { continue }
      let standing = LimitStanding(burst: limit.rate.burst, answer: answer, now: now)
      guard let until = answer.refusedUntil else {
        standing.tell(call)
        continue
      }
      limit.refused.increment()
      throw refusal(limit.limit, standing, LimitStanding.seconds(until, now), call)
    }
    try await next(call)
  }

  private func subject(of limit: MethodLimit, _ call: any ServerCall) throws(RPCError) -> String {
    switch limit.sharing {
    case .address: return proxies.client(of: call).limitKey
    case .user: return try CallContext(call).caller.userID.description
    case .session: return try CallContext(call).caller.sessionID.description
    case .device:
      guard let device = call[CallingDevice.self] else { throw SessionRefusal.missingAuthorization.rpcError }
      return device
    }
  }

  private func refusal(
    _ limit: MethodLimit, _ standing: LimitStanding, _ seconds: Int64, _ call: any ServerCall
  ) -> RPCError {
    let retryAfter: Metadata = ["retry-after": "\(max(1, seconds))"]
    var fields = retryAfter
    fields.append(contentsOf: standing.fields)
    // Over HTTP they are headers, whatever the body says.
    if call.protocolName == "connect" {
      for entry in fields.entries { call.initialMetadata.removeAll(entry.name) }
      call.initialMetadata.append(contentsOf: fields)
      fields = retryAfter
    } else {
      for entry in fields.entries { call.trailingMetadata.removeAll(entry.name) }
    }
    return PolicyRefusal.limited(limit.sharing).rpcError(
      retryAfter: .seconds(max(1, seconds)), hints: ["limit": limit.name], metadata: fields)
  }
}

/// The device that a call comes from, as the guard of DEVICE access attaches it: what limits per device are kept under.
public enum CallingDevice: CallValueKey {
  /// The device's identifier.
  public typealias Value = String
}

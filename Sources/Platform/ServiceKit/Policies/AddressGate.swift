internal import EventLoop
internal import Limits
internal import RPC
internal import RPCServer
internal import Synchronization
internal import Telemetry
internal import Values

/// One bucket for each client address, in the memory of this process: what a caller takes from before anything is judged of what it shows.
///
/// A signature is a tenth of a millisecond of work that anybody can ask for. Calls with a token that was judged before cost none, and take
/// nothing; all others of SESSION, SUBSCRIBED and DEVICE access do, and so does every plain HTTP request. The limits that mean something
/// to people are others: they are in the database, for all copies, and by what is known of the caller then.
///
/// Bounded: it forgets what was used least recently, and a bucket that is forgotten is full again.
final class AddressGate: Sendable {
  private struct Buckets {
    var young: [String: TokenBucket] = [:]
    var old: [String: TokenBucket] = [:]
  }

  /// How many addresses are remembered at least before one is forgotten.
  static let halfCapacity = 32_768

  private let rate: BucketRate
  private let proxies: TrustedProxies
  private let clock: WallClock
  private let refused: PrometheusCounter
  private let buckets = Mutex(Buckets())

  /// Buckets that fill by `rate`.
  init(_ rate: BucketRate, _ proxies: TrustedProxies, _ clock: WallClock, _ registry: PrometheusRegistry) {
    self.rate = rate
    self.proxies = proxies
    self.clock = clock
    refused = registry.counter(
      "parley_rate_limited_total", help: "Calls refused by a limit of their method.", labels: [("limit", "client-address")])
  }

  /// Takes a token for a call that has to be judged.
  ///
  /// - Throws: RESOURCE_EXHAUSTED `RATE_LIMITED_IP`.
  func admit(_ call: any ServerCall) throws(RPCError) { try take(proxies.client(of: call)) }

  /// Takes a token for a plain HTTP request.
  ///
  /// - Throws: As ``admit(_:)``.
  func admit(_ request: HTTPServerRequest) throws(RPCError) { try take(proxies.client(of: request)) }

  private func take(_ client: ClientAddress) throws(RPCError) {
    let now = Instant(microseconds: Int64(clamping: clock.monotonic().nanoseconds / 1_000))
    let refilledAt = buckets.withLock { buckets -> Instant? in
      var bucket = buckets.young[client.limitKey] ?? buckets.old[client.limitKey] ?? TokenBucket(full: rate, at: now)
      let isTaken = bucket.take(1, of: rate, at: now) == 1
      if buckets.young[client.limitKey] == nil, buckets.young.count >= Self.halfCapacity {
        (buckets.old, buckets.young) = (buckets.young, [:])
      }
      buckets.young[client.limitKey] = bucket
      return isTaken ? nil : bucket.refill(of: rate)
    }
    guard let refilledAt else { return }
    refused.increment()
    let seconds = max(1, LimitStanding.seconds(refilledAt, now))
    var metadata: Metadata = ["retry-after": "\(seconds)"]
    metadata.append(
      contentsOf: RateLimitFields(refusedFor: seconds, perMinute: rate.perMinute, burst: rate.burst).metadata)
    throw PolicyRefusal.limited(.address).rpcError(
      retryAfter: .seconds(seconds), hints: ["limit": "client-address"], metadata: metadata)
  }
}

/// The gate before plain HTTP routes.
struct AddressGateMiddleware: HTTPMiddleware {
  let gate: AddressGate

  func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    do throws(RPCError) { try gate.admit(request) } catch { return .failure(error).secured }
    return try await next(request)
  }
}

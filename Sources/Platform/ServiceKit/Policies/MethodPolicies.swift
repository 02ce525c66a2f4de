internal import EventLoop
internal import Idempotency
internal import Limits
internal import Logging
internal import MessagesCore
internal import RPC
internal import Telemetry

/// What the options of a service's methods ask for, put in the way of their calls; a method without any is left as it is.
///
/// Made when a service starts, so that a service which does not provide what its options ask for does not start.
struct MethodPolicies {
  /// A service has methods that ask for what it does not provide.
  struct Unprovided: Error, CustomStringConvertible {
    let description: String
  }

  private let parts: ServiceParts
  private let rates: [String: BucketRate]
  private let environment: Environment

  /// What the interceptors work with.
  struct Environment {
    let proxies: TrustedProxies
    let clock: WallClock
    let longestCall: Duration
    let loops: [EventLoop]
    let registry: PrometheusRegistry
    let log: Logger
  }

  /// Checks that everything is there.
  ///
  /// - Parameters:
  ///   - services: What is served.
  ///   - parts: What the service provides.
  ///   - settings: Limits that an operator has set.
  ///   - environment: What the interceptors work with.
  /// - Throws: ``Unprovided``.
  init(
    for services: [ServiceDescriptor], _ parts: ServiceParts, _ settings: [RateLimitSetting], _ environment: Environment
  ) throws(Unprovided) {
    self.parts = parts
    self.environment = environment
    let methods = services.flatMap(\.methods)
    try Self.check(methods, parts)
    rates = Self.rates(methods.flatMap { $0.policy?.limits ?? [] }, settings)
  }

  private static func check(_ methods: [MethodInfo], _ parts: ServiceParts) throws(Unprovided) {
    let limited = methods.filter { $0.policy?.limits.isEmpty == false }
    if let method = limited.first, parts.limiter == nil {
      throw Unprovided(description: "\(method.path) has a rate limit, and the service provides no limiter")
    }
    if let method = methods.first(where: { $0.policy?.replay != nil }), parts.answers == nil {
      throw Unprovided(description: "\(method.path) keeps answers by key, and the service provides nowhere to keep them")
    }
    // What the generator refuses in a file is refused here in a service, which may have several.
    var known: [String: (method: MethodInfo, limit: MethodLimit)] = [:]
    for method in limited {
      for limit in method.policy?.limits ?? [] {
        if let first = known[limit.name], first.limit != limit {
          throw Unprovided(description: "\(first.method.path) and \(method.path) differ about the rate limit '\(limit.name)'")
        }
        known[limit.name] = (method, limit)
      }
    }
  }

  /// How the buckets of limits fill: as they say themselves, or an operator.
  static func rates(_ limits: [MethodLimit], _ settings: [RateLimitSetting]) -> [String: BucketRate] {
    var rates: [String: BucketRate] = [:]
    for limit in limits {
      rates[limit.name] = BucketRate(perMinute: limit.perMinute, burst: limit.burst)
    }
    for setting in settings { rates[setting.name] = BucketRate(perMinute: setting.perMinute, burst: setting.burst) }
    return rates
  }

  /// What is the matter with the limits that an operator has set.
  static func findings(
    _ services: [ServiceDescriptor], and limits: [MethodLimit] = [], _ settings: [RateLimitSetting]
  ) -> [ConfigurationFinding] {
    let names = Set(services.flatMap(\.methods).flatMap { $0.policy?.limits ?? [] }.map(\.name) + limits.map(\.name))
    return settings.filter { !names.contains($0.name) }.map { setting in
      let known = names.isEmpty ? "none" : names.sorted().joined(separator: ", ")
      return .error(StandardKeys.rateLimits, "there is no limit '\(setting.name)'; there are \(known)")
    }
  }

  // MARK: In the way

  /// What the calls of a method pass, the guard of its access among it.
  func interceptors(of method: MethodInfo, behind access: AccessPolicy) -> [any ServerInterceptor] {
    guard let policy = method.policy else { return [access] }
    let limits = policy.limits.map { limit(of: $0) }
    let (before, after) = (limits.filter { $0.limit.sharing == .address }, limits.filter { $0.limit.sharing != .address })
    var interceptors: [any ServerInterceptor] = [limiting(before), access, limiting(after)].compactMap(\.self)
    if policy.owners != nil { interceptors.append(OwnershipInterceptor(policy: policy)) }
    if let replay = policy.replay, let store = parts.answers { interceptors.append(replaying(policy, replay, store)) }
    return interceptors
  }

  private func limit(of limit: MethodLimit) -> RateLimitInterceptor.Limit {
    RateLimitInterceptor.Limit(limit, rates[limit.name], environment.registry)
  }

  private func limiting(_ limits: [RateLimitInterceptor.Limit]) -> (any ServerInterceptor)? {
    guard let limiter = parts.limiter, !limits.isEmpty else { return nil }
    return RateLimitInterceptor(
      limits: limits, limiter: limiter, proxies: environment.proxies, clock: environment.clock, log: environment.log)
  }

  private func replaying(
    _ policy: MethodPolicy, _ replay: MethodReplay<any Message>, _ store: IdempotencyStore
  ) -> any ServerInterceptor {
    IdempotencyInterceptor(
      policy: policy, replay: replay,
      runs: KeyedRuns(
        store, longestCall: environment.longestCall, clock: environment.clock, loops: environment.loops,
        registry: environment.registry, log: environment.log))
  }
}

extension [ServiceRoutes] {
  /// These routes with what each method's options ask for in the way of its calls.
  func guarded(by policies: MethodPolicies, _ access: AccessPolicy) -> [ServiceRoutes] {
    map { service in
      var service = service
      for index in service.methods.indices {
        let route = service.methods[index]
        var interceptors = policies.interceptors(of: route.method, behind: access)
        if route.requestLimit != nil, let guarded = interceptors.firstIndex(where: { $0 is AccessPolicy }) {
          interceptors.insert(RequestOwnerInterceptor(), at: guarded + 1)
        }
        service.methods[index] = route.intercepted(by: interceptors)
      }
      return service
    }
  }
}

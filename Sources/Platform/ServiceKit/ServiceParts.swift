public import Idempotency
public import RPC
public import RPCServer

/// What a service consists of, as its `build` hands it over.
public struct ServiceParts: Sendable {
  /// Its RPCs.
  public var services: [ServiceRoutes]
  /// How each kind of access but PUBLIC is guarded. A service with a method that no guard covers does not start.
  public var guards: [MethodAccess: AccessGuard]
  /// What every call passes before it is guarded (limits by address, say), after the standard interceptors.
  public var interceptors: [any ServerInterceptor]
  /// Its plain HTTP routes.
  public var http: [HTTPRoute]
  /// What answers plain HTTP requests for other paths; by default with 404.
  public var fallback: HTTPRoute.Handler { ownFallback ?? { _ in .text(404, "not found") } }
  private var ownFallback: HTTPRoute.Handler?
  /// What runs beside the server from start to drain.
  public var jobs: [BackgroundJob]
  /// Where calls are counted. A service with a method that has a rate limit does not start without it.
  public var limiter: (any RateLimiter)?
  /// Where answers are kept. A service with a method that keeps answers by key does not start without it.
  public var answers: IdempotencyStore?

  /// A service from its parts.
  public init(
    services: [ServiceRoutes] = [], guards: [MethodAccess: AccessGuard] = [:], interceptors: [any ServerInterceptor] = [],
    http: [HTTPRoute] = [], fallback: HTTPRoute.Handler? = nil, jobs: [BackgroundJob] = []
  ) {
    self.services = services
    self.guards = guards
    self.interceptors = interceptors
    self.http = http
    ownFallback = fallback
    self.jobs = jobs
  }

  /// A service whose parts are made one by one, each by whoever knows it.
  ///
  /// Two parts that guard the same kind of access, or both count calls or keep answers, are a programmer's mistake. The fallback is the
  /// first
  /// one that is given, else the default one.
  public init(joining parts: [ServiceParts]) {
    self.init()
    for part in parts {
      services += part.services
      guards.merge(part.guards) { _, _ in preconditionFailure("two parts guard the same kind of access") }
      interceptors += part.interceptors
      http += part.http
      ownFallback = ownFallback ?? part.ownFallback
      jobs += part.jobs
      precondition(limiter == nil || part.limiter == nil, "two parts count calls")
      precondition(answers == nil || part.answers == nil, "two parts keep answers")
      limiter = limiter ?? part.limiter
      answers = answers ?? part.answers
    }
  }
}

/// Something that runs as long as the process serves. It is cancelled once the last call is answered.
public struct BackgroundJob: Sendable {
  /// What logs call it.
  public let name: String
  /// The parts of its work, where it has any, as declarations of tables name them.
  public let tasks: [String]
  /// Runs until it is cancelled. Throwing anything but `CancellationError` before that ends the process with exit code 70;
  /// returning is fine for a job that has done its work.
  public let run: @Sendable () async throws -> Void

  /// Names a job, and the parts of its work.
  public init(_ name: String, tasks: [String] = [], _ run: @escaping @Sendable () async throws -> Void) {
    self.name = name
    self.tasks = tasks
    self.run = run
  }
}

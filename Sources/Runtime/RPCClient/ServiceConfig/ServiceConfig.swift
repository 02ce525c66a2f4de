public import RPC

/// How the owner of a service wants it to be called: per-method timeouts and retries, and how calls are spread.
///
/// It is written in the JSON of gRPC's service config (`grpc/service_config/service_config.proto`), so that one file serves
/// clients in every language; see ``init(json:)-(String)``.
public struct ServiceConfig: Sendable, Hashable {
  /// What holds for some methods.
  public var methods: [MethodConfig]
  /// How calls are spread over addresses; nil leaves it to ``ClientChannelConfiguration/loadBalancing``.
  public var loadBalancing: LoadBalancingPolicy?
  /// When a channel stops to retry because too much fails; nil for never.
  public var retryThrottling: RetryThrottling?

  /// A config from its parts.
  public init(
    methods: [MethodConfig] = [], loadBalancing: LoadBalancingPolicy? = nil, retryThrottling: RetryThrottling? = nil
  ) {
    self.methods = methods
    self.loadBalancing = loadBalancing
    self.retryThrottling = retryThrottling
  }
}

/// What holds for the calls of some methods.
public struct MethodConfig: Sendable, Hashable {
  /// A service's method, all methods of a service, or all there are.
  public struct Name: Sendable, Hashable {
    /// The full name of the service, or empty for every service.
    public var service: String
    /// The method, or empty for every method of the service.
    public var method: String

    /// Names a method, a service's methods, or everything.
    public init(service: String = "", method: String = "") {
      self.service = service
      self.method = method
    }
  }

  /// What it holds for. A method's own entry counts, else that of its service, else the one for everything.
  public var names: [Name]
  /// The longest time of a call; the caller's own deadline holds when it is earlier.
  public var timeout: Duration?
  /// Whether calls wait for a connection, besides those that ask for it themselves.
  public var waitsForReady: Bool?
  /// The most bytes of a request message.
  public var maximumRequestBytes: Int?
  /// The most bytes of a response message; the caller's own limit holds when it is smaller.
  public var maximumResponseBytes: Int?
  /// How failed calls are tried again; nil for not at all.
  public var retry: RetryPolicy?

  /// What holds for `names`, with everything at its default.
  public init(
    _ names: [Name], timeout: Duration? = nil, waitsForReady: Bool? = nil, maximumRequestBytes: Int? = nil,
    maximumResponseBytes: Int? = nil, retry: RetryPolicy? = nil
  ) {
    self.names = names
    self.timeout = timeout
    self.waitsForReady = waitsForReady
    self.maximumRequestBytes = maximumRequestBytes
    self.maximumResponseBytes = maximumResponseBytes
    self.retry = retry
  }
}

/// How failed calls are tried again: gRFC A6.
public struct RetryPolicy: Sendable, Hashable {
  /// The most attempts, the first one included: 2 to 5.
  public var maximumAttempts: Int
  /// The wait before the second attempt.
  public var initialBackoff: Duration
  /// The longest wait.
  public var maximumBackoff: Duration
  /// What each further attempt multiplies the wait by.
  public var backoffMultiplier: Double
  /// Which failures are worth another attempt.
  public var retryableCodes: Set<StatusCode>

  /// The most attempts that gRFC A6 lets a policy ask for.
  public static let mostAttempts = 5

  /// A policy; what is out of range is brought into it.
  public init(
    maximumAttempts: Int, initialBackoff: Duration, maximumBackoff: Duration, backoffMultiplier: Double,
    retryableCodes: Set<StatusCode>
  ) {
    self.maximumAttempts = min(max(maximumAttempts, 2), Self.mostAttempts)
    self.initialBackoff = max(initialBackoff, .nanoseconds(1))
    self.maximumBackoff = max(maximumBackoff, .nanoseconds(1))
    self.backoffMultiplier = backoffMultiplier > 0 ? backoffMultiplier : 1
    self.retryableCodes = retryableCodes.subtracting([.ok])
  }
}

/// When a channel stops to retry because too much fails: gRFC A6. A failure costs a token, a success brings back a part of one,
/// and nothing is tried again while half of the tokens or fewer are left.
public struct RetryThrottling: Sendable, Hashable {
  /// The tokens at the start, and the most there are: 1 to 1,000.
  public var maximumTokens: Int
  /// What a success brings back, in thousandths of a token, at least one.
  public var thousandthsPerSuccess: Int

  /// A bucket; what is out of range is brought into it.
  public init(maximumTokens: Int, tokenRatio: Double) {
    self.maximumTokens = min(max(maximumTokens, 1), 1_000)
    thousandthsPerSuccess = tokenRatio.isFinite ? max(1, Int(min(tokenRatio, 1_000) * 1_000)) : 1
  }
}

/// How calls are spread over the addresses of a target.
public enum LoadBalancingPolicy: Sendable, Hashable {
  /// All calls go to the first address that serves, tried in the resolver's order or, so that clients spread, in a random one.
  case pickFirst(shuffled: Bool = false)
  /// Calls go to all addresses that serve, in turn.
  case roundRobin
}

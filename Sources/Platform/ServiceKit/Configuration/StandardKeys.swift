public import EventLoop
public import Logging
public import RPCServer

/// The settings that every service has. A service lists a key of the same name to change its default or add an alias.
public enum StandardKeys {
  /// Where clear-text HTTP/2 is served.
  public static let listen = ConfigurationKey<SocketAddress?>(
    "listen", default: loopback(port: 0), aliases: [],
    "The address for gRPC and HTTP over clear-text HTTP/2 (h2c); port 0 lets the system choose.")
  /// Where HTTP/2 over TLS is served.
  public static let tlsListen = ConfigurationKey<SocketAddress?>(
    optional: "tls.listen", "The address for gRPC and HTTP over TLS; needs a certificate and its key.")
  /// Who may connect to a Unix socket.
  public static let unixMode = ConfigurationKey<FileMode>(
    "unix.mode", default: FileMode(0o660), "The permissions of Unix sockets among the addresses to listen on.")
  /// Which group owns a Unix socket.
  public static let unixGroup = ConfigurationKey<SystemGroup?>(
    optional: "unix.group", "The group that owns those sockets; without it, the process's own.")
  /// Where metrics and probes are served.
  public static let adminListen = ConfigurationKey<SocketAddress?>(
    optional: "admin.listen",
    "The address for /metrics, /livez, /readyz, /healthz and the admin page over plain HTTP/1.1; loopback, unless admin.exposed.")
  /// Whether others may reach them.
  public static let adminExposed = ConfigurationKey<Bool>(
    "admin.exposed", default: false,
    "Whether admin.listen may be an address that other machines reach, for the probes and the scraper of a pod.")
  /// Whether a version may meet the settings of a newer one.
  public static let lenientEnvironment = ConfigurationKey<Bool>(
    "environment.lenient", default: false,
    "Whether variables that belong to no setting are warned about instead of ending the start: for a return to an older version.")
  /// The database.
  public static let databaseURL = ConfigurationKey<String>(
    required: "database.url", isSecret: true, aliases: ["DATABASE_URL"],
    "The PostgreSQL address: postgresql://user:password@host:5432/name.")
  /// The database as its owner sees it.
  public static let databaseOwnerURL = ConfigurationKey<String?>(
    optional: "database.ownerUrl", isSecret: true,
    "The same for `migrate`, as the role that owns the schema; without it, the serving role's.")
  /// The database as a superuser sees it; only `migrate --bootstrap` reads it.
  static let databaseAdminURL = ConfigurationKey<String?>(
    optional: "database.adminUrl", isSecret: true, "The same for `migrate --bootstrap`, as a superuser.")
  /// Connections for writes.
  public static let databasePool = ConfigurationKey<Int>(
    "database.pool", default: 4, in: 1...256, "Connections for writes and transactions, per loop.")
  /// How long to wait for the database.
  public static let startTimeout = ConfigurationKey<Duration>(
    "start.timeout", default: .seconds(30), in: .zero ... .seconds(3600),
    "How long the start waits for the database before it gives up (exit code 69).")
  /// How many processes there are.
  public static let copies = ConfigurationKey<Int>(
    "copies", default: 1, in: 1...10_000,
    "How many processes of this service share the database; its connections are budgeted by it.")
  /// How many threads.
  public static let loops = ConfigurationKey<Int>(
    "loops", default: 0, in: 0...256, "How many event loops, each a thread; 0 is as many as cores, quota and connections allow.")
  /// What is logged.
  public static let logLevel = ConfigurationKey<Logger.Level>(
    "log.level", default: .info, "The least severe level that is logged.")
  /// How many of the calls that end OK are logged.
  public static let accessSampling = ConfigurationKey<Int>(
    "log.accessSampling", default: 1, in: 1...1_000_000,
    "Of so many calls that end OK, one is in the access log; all others are always there.")
  /// How long a loop may be held.
  public static let stallThreshold = ConfigurationKey<Duration>(
    "stall.threshold", default: .milliseconds(500), in: .milliseconds(10) ... .seconds(3_600),
    "How long a handler may keep its loop from everything else before the log names it.")
  /// How long to drain.
  public static let drainTimeout = ConfigurationKey<Duration>(
    "drain.timeout", default: .seconds(25), in: .zero ... .seconds(3600),
    "How long calls under way may take after SIGTERM before they are cut off.")
  /// Where the bound addresses are written.
  public static let portFile = ConfigurationKey<FilePath?>(
    optional: "portFile", "A file to which the addresses in use are written as JSON once the service is ready.")
  /// Whose word on the client's address is taken.
  public static let trustedProxies = ConfigurationKey<[NetworkPrefix]>(
    "trustedProxies", default: [],
    "Networks (CIDR) of the proxies whose X-Forwarded-For is believed; `unix` is a peer on a Unix socket.")
  /// The largest message.
  public static let maxRequestBytes = ConfigurationKey<Int>(
    "maxRequestBytes", default: 4 << 20, in: 1_024...(1 << 30), "The largest request message, in bytes.")
  /// The longest call.
  public static let maxCallDuration = ConfigurationKey<Duration>(
    "maxCallDuration", default: .seconds(60), in: .milliseconds(10) ... .seconds(86_400),
    "The time a call may take whatever its caller allows.")
  /// Limits in the place of those that methods give.
  public static let rateLimits = ConfigurationKey<[RateLimitSetting]>(
    "rateLimits", default: [],
    "Rate limits of methods by name, in the place of those in the proto files: account=120/60 (a minute/at once).")
  /// Judged calls a minute for an address.
  public static let addressPerMinute = ConfigurationKey<Int>(
    "addressLimit.perMin", default: 6_000, in: 1...10_000_000,
    "Plain HTTP requests, and calls whose token was not judged before, a minute and client address (IPv6: per /64), in each process."
  )
  /// An address's burst of them.
  public static let addressBurst = ConfigurationKey<Int>(
    "addressLimit.burst", default: 1_000, in: 1...10_000_000, "The same at once.")
  /// Whether the service tells what it serves.
  public static let reflection = ConfigurationKey<Bool>(
    "reflection", default: true, "Whether anyone may ask which services and messages there are (gRPC server reflection).")
  /// Who may call from a browser.
  public static let corsOrigins = ConfigurationKey<CORSOrigins>(
    "corsOrigins", default: .any, "The origins whose pages may call: `*`, `none`, or a list such as https://app.example.com.")
  /// Whom providers' certificates must lead to.
  public static let outboundCAFile = ConfigurationKey<ReadableFile?>(
    optional: "outbound.caFile", "A PEM file of roots to trust for outgoing requests instead of the system's.")
  /// The way out.
  public static let outboundProxy = ConfigurationKey<String>(
    "outbound.proxy", default: "none", isSecret: true,
    "The proxy for outgoing requests: none, environment (https_proxy …), or a URL.")
  /// How long providers may take.
  public static let outboundTimeout = ConfigurationKey<Duration>(
    "outbound.timeout", default: .seconds(30), in: .milliseconds(100) ... .seconds(600),
    "How long an outgoing request may take, with its repetitions.")

  /// All of them, in the order of documentation. Those of the database only where there is one.
  public static func all(database: Bool) -> [any ConfigurationKeyDeclaration] { all(database: database, .init()) }

  /// The same, with the defaults of the limits as they are in a configuration, and a port of the service's own.
  static func all(database: Bool, _ limited: RPCServerConfiguration, port: UInt16 = 0) -> [any ConfigurationKeyDeclaration] {
    var keys: [any ConfigurationKeyDeclaration] = [
      listen.defaulting(to: loopback(port: port)), unixMode, unixGroup, adminListen, adminExposed, trustedProxies, corsOrigins,
      maxRequestBytes, maxCallDuration, rateLimits, addressPerMinute, addressBurst, reflection,
      outboundCAFile, outboundProxy, outboundTimeout, loops, copies, startTimeout, drainTimeout, stallThreshold, portFile,
      logLevel, accessSampling, lenientEnvironment,
    ]
    keys += tls + telemetry + limits.map { $0.key(defaulting: limited) }
    if database { keys += [databaseURL, databaseOwnerURL, databasePool] as [any ConfigurationKeyDeclaration] }
    return keys
  }

  private static func loopback(port: UInt16) -> SocketAddress { SocketAddress(.ipv4([127, 0, 0, 1], port: port)) }
}

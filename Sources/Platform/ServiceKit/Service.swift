public import PostgreSQL
public import RPC
internal import RPCServer

/// One service of the product: what it is called, what it is set up with, and how it is put together.
///
/// Its executable is a ``ServiceCommand`` with this type; everything that every service needs comes with it.
public protocol Service: Sendable {
  /// The name in `parley-<name>`, `PARLEY_<NAME>_…` and its schema: lower-case letters and digits.
  static var name: String { get }
  /// The port of ``StandardKeys/listen`` where nothing is said: each service of a host has its own, so that it is found without being told.
  static var defaultPort: UInt16 { get }
  /// Its settings beside the standard ones. A key named like a standard key takes that one's place.
  static var configuration: [any ConfigurationKeyDeclaration] { get }
  /// What it serves over RPC, known without being built.
  static var services: [ServiceDescriptor] { get }
  /// The limits of its plain HTTP paths beside those of its methods' options. Operators set them by name, too.
  static var limits: [MethodLimit] { get }
  /// The steps of its schema; empty for a service without a database.
  static var migrations: [Migration] { get }
  /// What is declared of the tables of its schema; empty for a service without a database.
  static var tables: [TableDeclaration] { get }
  /// Of its requests that may be larger than `maxRequestBytes`, the bytes of the largest, by the room in which they wait
  /// (``RPC/RequestLimit``). What limits of memory need follows from it; nothing larger can be served.
  static var largestRequests: [String: Int] { get }
  /// What is the matter with its settings together.
  static func check(_ settings: Settings) -> [ConfigurationFinding]
  /// Puts it together. The database is connected; nothing listens yet.
  ///
  /// - Throws: ``ConfigurationError`` for a setting that turns out to be wrong (exit code 78), a `DatabaseError` or
  ///   `OutboundError` for a dependency that is not there (69), or anything else (70).
  static func build(_ context: ServiceContext) async throws -> ServiceParts
}

extension Service {
  /// One that the system chooses.
  public static var defaultPort: UInt16 { 0 }
  /// No path has a limit of its own.
  public static var limits: [MethodLimit] { [] }
  /// No database.
  public static var migrations: [Migration] { [] }
  /// No tables.
  public static var tables: [TableDeclaration] { [] }
  /// No request is larger than others.
  public static var largestRequests: [String: Int] { [:] }
  /// Nothing is the matter.
  public static func check(_ settings: Settings) -> [ConfigurationFinding] { [] }

  static var hasDatabase: Bool { !migrations.isEmpty }
  static var program: String { "parley-\(name)" }
  /// All of its settings: its own and the standard ones, with the defaults that hold for it.
  public static var keys: [any ConfigurationKeyDeclaration] {
    let needs = LargeRequestNeeds(largestRequests, besides: RPCServerConfiguration().maximumRequestBytes)
    return configuration + StandardKeys.all(database: hasDatabase, needs.defaults, port: defaultPort)
  }

  /// What is the matter with valid settings: the standard checks and the service's own.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    StandardChecks.findings(settings, hasDatabase: hasDatabase)
      + LargeRequestNeeds(largestRequests, besides: settings[StandardKeys.maxRequestBytes]).findings(
        RPCServerConfiguration(settings))
      + LimitRelations(RPCServerConfiguration(settings)).findings
      + ServiceCaller.findings(
        settings[StandardKeys.tlsClientIdentities], StandardKeys.tlsClientIdentities, for: services)
      + MethodPolicies.findings(services, and: limits, settings[StandardKeys.rateLimits]) + check(settings)
  }
}

/// Where the database is, who we are to it, and how much of it we use.
public struct DatabaseConfiguration: Sendable {
  /// How the server's identity is checked, as libpq's `sslmode`.
  public enum TLS: String, Sendable, Hashable {
    /// Never TLS.
    case disable
    /// Plain, TLS when the server insists.
    case allow
    /// TLS when the server offers it, not verified.
    case prefer
    /// TLS, not verified.
    case require
    /// TLS, certificate verified.
    case verifyCA = "verify-ca"
    /// TLS, certificate and host name verified.
    case verifyFull = "verify-full"
  }

  /// One server, or one address under which the primary may be found.
  public struct Host: Sendable, Hashable, CustomStringConvertible {
    /// A host name, an IP address, or the directory of a Unix socket.
    public var name: String
    /// The port; also part of a Unix socket's name.
    public var port: UInt16
    /// The IP address, where the name is only what the certificate is compared with.
    public var address: String?

    /// A server from its parts.
    public init(_ name: String, port: UInt16 = 5432, address: String? = nil) {
      self.name = name
      self.port = port
      self.address = address
    }

    /// Whether ``name`` is the directory of a Unix socket.
    public var isSocketPath: Bool { name.hasPrefix("/") || name.hasPrefix("@") }

    /// Whether it is on this machine: a Unix socket, `localhost` or a loopback address.
    public var isLocal: Bool {
      isSocketPath || name == "localhost" || name == "::1" || name.hasPrefix("127.") && isNumeric
    }

    private var isNumeric: Bool { name.allSatisfy { $0.isNumber || $0 == "." } }

    /// What is shown in logs.
    public var description: String { "\(isSocketPath ? "[\(name)]" : name):\(port)" }
  }

  /// The servers of which one is the primary, at least one. They are tried in turn, beginning with the one that was it last.
  public var hosts: [Host]
  /// The name of the first host.
  public var host: String {
    get { hosts[0].name }
    set { hosts[0].name = newValue }
  }
  /// The port of the first host.
  public var port: UInt16 {
    get { hosts[0].port }
    set { hosts[0].port = newValue }
  }
  /// Whether a server that is a standby, or that only reads, is passed over; otherwise the first that answers is taken.
  public var requiresPrimary = true
  /// The name of the database.
  public var database: String
  /// The role to log in as.
  public var user: String
  /// The password; never logged. ``passwordFile`` wins over it.
  public var password: String?
  /// A file whose first line is the password; read at every new connection, so that it can be changed in place.
  public var passwordFile: String?
  /// How the server is checked; nil: not at all on this machine, ``TLS/verifyFull`` elsewhere.
  public var tls: TLS?
  /// The file with the certificates that the server's must lead to; nil: libpq's default.
  public var rootCertificate: String?
  /// Accepts less than ``TLS/verifyFull`` for a server on another machine.
  public var allowsUnverifiedServer = false
  /// Other keywords of libpq, passed on as they are.
  public var additionalParameters: [String: String] = [:]

  /// Shown in `pg_stat_activity`, followed by what the connection is for.
  public var applicationName = "parley"
  /// How long each host may take to let a new connection in, name look-up included.
  public var connectTimeout: Duration = .seconds(5)
  /// How long sent data may stay unacknowledged before the connection counts as dead.
  public var unacknowledgedTimeout: Duration = .seconds(10)
  /// How long the shared read connection may owe an answer without giving any before it counts as dead.
  public var stallTimeout: Duration = .seconds(5)
  /// How often an unused read connection is asked whether it is still there; with ``stallTimeout`` this is how long a server that
  /// hangs goes unnoticed when nobody calls.
  public var heartbeatPause: Duration = .seconds(5)
  /// The longest pause between two attempts to connect; pauses start at 50 ms and double, with jitter.
  public var longestReconnectPause: Duration = .seconds(2)

  /// The statement timeout on the shared read connection; a read that takes longer goes to the pool, once.
  public var readTimeout: Duration = .milliseconds(250)
  /// How many reads of one loop may wait in memory while two segments are on their way; one more is refused.
  public var pipelinedReadLimit = 16_384
  /// The most connections in the pool of one loop.
  public var poolSize = 4
  /// How many tasks of one loop may wait for a connection.
  public var poolQueueLimit = 1024
  /// How long a task may wait for a connection.
  public var poolWait: Duration = .seconds(2)
  /// The statement timeout in the pool where no deadline asks for less.
  public var statementTimeout: Duration = .seconds(30)
  /// How long a transaction may stay open without doing anything.
  public var idleInTransactionTimeout: Duration = .seconds(30)
  /// How far a time that a caller brings may be ahead of the server's clock where both are compared; what is further ahead counts as
  /// this far. Nil, for tests that move their own clock: as far as it likes.
  public var clockLead: Duration? = .seconds(60)
  /// Counts what is run by tasks that have no ``StatementMeter`` of their own; nil: nobody counts anything, whatever a task has bound.
  /// With one, each commit has a statement more, which is not counted.
  public var meter: StatementMeter?
  /// How many processes of this service share the server: counted by the connection budget.
  public var copies = 1

  /// A configuration from its required parts.
  public init(host: String, database: String, user: String) {
    hosts = [Host(host)]
    self.database = database
    self.user = user
  }

  /// Whether all servers are reached over Unix sockets.
  public var isSocketPath: Bool { hosts.allSatisfy(\.isSocketPath) }

  /// Whether all servers are on this machine.
  public var isLocal: Bool { hosts.allSatisfy(\.isLocal) }

  /// What ``tls`` comes to.
  public var effectiveTLS: TLS { tls ?? (isLocal ? .disable : .verifyFull) }

  /// The most connections that all copies open together: each loop has one for reads, and its pool; each copy one to listen.
  public func connections(loops: Int) -> Int { copies * (loops * (1 + poolSize) + 1) }

  /// Refuses what must not be used.
  ///
  /// - Throws: ``DatabaseError`` with `invalidConfiguration`, naming the setting.
  public func validate() throws(DatabaseError) {
    func check(_ condition: Bool, _ message: String) throws(DatabaseError) {
      if !condition { throw DatabaseError(.invalidConfiguration, message) }
    }
    let isNamed = !hosts.isEmpty && hosts.allSatisfy { !$0.name.isEmpty }
    try check(isNamed && !database.isEmpty && !user.isEmpty, "host, database and user are required")
    try check(
      isLocal || effectiveTLS == .verifyFull || allowsUnverifiedServer,
      "sslmode=\(effectiveTLS.rawValue) does not verify a server on another machine: use verify-full")
    try check((1...1000).contains(poolSize), "the pool has 1 to 1000 connections per loop")
    try check(poolQueueLimit >= 0 && pipelinedReadLimit > 0 && copies > 0, "limits are positive")
    try check(
      readTimeout > .zero && statementTimeout > .zero && connectTimeout > .zero && heartbeatPause > .zero, "timeouts are positive"
    )
  }
}

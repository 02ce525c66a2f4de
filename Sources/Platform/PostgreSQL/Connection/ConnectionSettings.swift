internal import Synchronization

/// What one kind of connection is opened with.
struct ConnectionSettings: Sendable {
  let configuration: DatabaseConfiguration
  /// Server settings of the session, sent in the start-up message so that they cost no round trip.
  let session: [(name: String, value: String)]
  /// What the connection is for, in logs and after the application's name in `pg_stat_activity`.
  let purpose: String
  /// Whether notifications are looked for.
  var hearsNotifications = false
  /// Whether it is for writes: a server that takes none is none.
  var isForWrites = false
  /// Which of the hosts was the primary last.
  var preference = HostPreference()

  /// The shared connection: reads only, none of them long.
  static func reads(_ configuration: DatabaseConfiguration, _ preference: HostPreference)
    -> ConnectionSettings
  {
    .init(
      configuration: configuration,
      session: [
        ("default_transaction_read_only", "on"),
        ("statement_timeout", "\(configuration.readTimeout.wholeMilliseconds)"),
      ], purpose: "reads", preference: preference)
  }

  /// A connection of the pool.
  static func pool(_ configuration: DatabaseConfiguration, _ preference: HostPreference)
    -> ConnectionSettings
  {
    .init(
      configuration: configuration,
      session: [
        ("statement_timeout", "\(configuration.statementTimeout.wholeMilliseconds)"),
        (
          "idle_in_transaction_session_timeout",
          "\(configuration.idleInTransactionTimeout.wholeMilliseconds)"
        ),
      ], purpose: "pool", isForWrites: configuration.requiresPrimary, preference: preference)
  }

  /// A connection that may take its time.
  static func administration(_ configuration: DatabaseConfiguration) -> ConnectionSettings {
    .init(configuration: configuration, session: [("statement_timeout", "0")], purpose: "administration")
  }

  /// A connection that hears notifications.
  static func listening(_ configuration: DatabaseConfiguration) -> ConnectionSettings {
    .init(
      configuration: configuration, session: [("default_transaction_read_only", "on")], purpose: "notifications",
      hearsNotifications: true)
  }

  /// libpq's keywords and values for one host. `addresses` are what its name resolved to; `password` is what was read last.
  func parameters(for host: DatabaseConfiguration.Host, addresses: [String], password: String?)
    -> [(String, String)]
  {
    let configuration = configuration
    var parameters = configuration.additionalParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    let copies = max(1, addresses.count)
    parameters.append(("host", Array(repeating: host.name, count: copies).joined(separator: ",")))
    if !addresses.isEmpty { parameters.append(("hostaddr", addresses.joined(separator: ","))) }
    parameters.append(("port", "\(host.port)"))
    if configuration.requiresPrimary {
      // Told by the server while it lets the connection in, so that it costs no round trip. What only reads by its own setting is a
      // primary for whoever reads.
      parameters.append(("target_session_attrs", isForWrites ? "read-write" : "primary"))
    }
    parameters.append(("dbname", configuration.database))
    parameters.append(("user", configuration.user))
    if let password { parameters.append(("password", password)) }
    parameters.append(("application_name", "\(configuration.applicationName) \(purpose)"))
    parameters.append(("client_encoding", "UTF8"))
    parameters.append(("sslmode", configuration.effectiveTLS.rawValue))
    if let root = configuration.rootCertificate { parameters.append(("sslrootcert", root)) }
    // Kerberos would look names and files up while it blocks the loop.
    parameters.append(("gssencmode", "disable"))
    if !host.isSocketPath {
      parameters.append(
        ("tcp_user_timeout", "\(configuration.unacknowledgedTimeout.wholeMilliseconds)"))
      parameters.append(("keepalives_idle", "30"))
      parameters.append(("keepalives_interval", "10"))
      parameters.append(("keepalives_count", "3"))
    }
    let options = (session + (host.isSocketPath ? [] : vigilance)).map {
      "-c \($0.name)=\($0.value)"
    }
    let given = configuration.additionalParameters["options"].map { [$0] } ?? []
    parameters.removeAll { $0.0 == "options" }
    parameters.append(("options", (given + options + ["-c TimeZone=UTC"]).joined(separator: " ")))
    return parameters
  }

  /// How the server finds out that we are gone. Where a network drops our goodbye, it would keep the locks of an open transaction
  /// until that has been idle for too long; asked again and again, our machine tells it that there is no such connection.
  private var vigilance: [(name: String, value: String)] {
    [
      ("tcp_keepalives_idle", "5"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "2"),
      ("tcp_user_timeout", "\(configuration.unacknowledgedTimeout.wholeMilliseconds)"),
    ]
  }
}

extension Duration {
  /// The duration in milliseconds, rounded up, at least 1.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return max(1, seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}

/// Which of the hosts was the primary last, as the connections of one loop know it together.
final class HostPreference: Sendable {
  private let first = Atomic(0)

  /// The hosts, the preferred one first.
  func order(_ hosts: [DatabaseConfiguration.Host]) -> [(
    index: Int, host: DatabaseConfiguration.Host
  )] {
    let start = first.load(ordering: .relaxed) % hosts.count
    return (0..<hosts.count).map { ((start + $0) % hosts.count, hosts[(start + $0) % hosts.count]) }
  }

  /// This one has let a connection in.
  func prefer(_ index: Int) { first.store(index, ordering: .relaxed) }

  /// This one is no primary any more.
  func avoid(_ index: Int) { first.store(index + 1, ordering: .relaxed) }
}

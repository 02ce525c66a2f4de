internal import CPostgreSQL

extension DatabaseConfiguration {
  /// Reads `postgresql://user:password@host:port/database?sslmode=…` or `host=… dbname=…`, by libpq's own rules.
  ///
  /// Several hosts are servers of which one is the primary: `postgresql://user@a:5432,b:5433/database`. Only `any` as
  /// `target_session_attrs` takes a server that is not. Timeouts and the size of the pool are properties.
  ///
  /// - Throws: ``DatabaseError`` with `invalidConfiguration`. The message never quotes the text, which may hold a password.
  public init(_ text: String) throws(DatabaseError) {
    var complaint: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &complaint) else {
      PQfreemem(complaint)
      throw DatabaseError(.invalidConfiguration, "the database address is neither a postgresql:// URL nor key=value pairs")
    }
    defer { PQconninfoFree(options) }
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    try self.init(taking: &values)
  }

  private init(taking values: inout [String: String]) throws(DatabaseError) {
    func refuse(_ message: String) -> DatabaseError {
      DatabaseError(.invalidConfiguration, message)
    }
    guard values["service"] == nil else {
      throw refuse("the database address names a service file")
    }
    let hosts = try Self.hosts(&values)
    guard let user = values.removeValue(forKey: "user") else {
      throw refuse("the database address names no user")
    }
    self.init(
      host: hosts[0].name, database: values.removeValue(forKey: "dbname") ?? user, user: user)
    self.hosts = hosts
    if let text = values.removeValue(forKey: "target_session_attrs") {
      guard ["any", "primary", "read-write"].contains(text) else {
        throw refuse("target_session_attrs is primary, read-write or any: a service writes")
      }
      requiresPrimary = text != "any"
    }
    if let text = values.removeValue(forKey: "sslmode") {
      guard let mode = TLS(rawValue: text) else {
        throw refuse("sslmode is one of disable, prefer, require, verify-ca, verify-full")
      }
      tls = mode
    }
    if let text = values.removeValue(forKey: "connect_timeout") {
      guard let seconds = Int(text) else { throw refuse("connect_timeout is a number of seconds") }
      if seconds > 0 { connectTimeout = .seconds(seconds) }
    }
    if let text = values.removeValue(forKey: "tcp_user_timeout") {
      guard let milliseconds = Int(text), milliseconds > 0 else { throw refuse("tcp_user_timeout is a number of milliseconds") }
      unacknowledgedTimeout = .milliseconds(milliseconds)
    }
    password = values.removeValue(forKey: "password")
    rootCertificate = values.removeValue(forKey: "sslrootcert")
    if let name = values.removeValue(forKey: "application_name") { applicationName = name }
    additionalParameters.merge(values) { _, new in new }
  }
}

extension DatabaseConfiguration {
  /// The lists of hosts, addresses and ports, which are as long as each other; one port, or none, holds for all.
  private static func hosts(_ values: inout [String: String]) throws(DatabaseError) -> [Host] {
    func list(_ key: String) -> [String]? {
      values.removeValue(forKey: key)?.split(separator: ",", omittingEmptySubsequences: false).map(
        String.init)
    }
    func refuse(_ message: String) -> DatabaseError {
      DatabaseError(.invalidConfiguration, message)
    }
    let (named, addresses, ports) = (list("host"), list("hostaddr"), list("port") ?? [])
    let names = named ?? addresses ?? ["/var/run/postgresql"]
    guard names.count <= Self.mostHosts else {
      throw refuse("the database address names more than \(Self.mostHosts) hosts")
    }
    guard addresses == nil || addresses?.count == names.count,
      ports.count <= 1 || ports.count == names.count
    else {
      throw refuse("the database address has as many ports and addresses as hosts")
    }
    var hosts: [Host] = []
    for (index, name) in names.enumerated() {
      let text = ports.isEmpty ? "" : ports[ports.count == 1 ? 0 : index]
      guard let port = text.isEmpty ? 5432 : UInt16(text), port > 0 else {
        throw refuse("the database's port is no port")
      }
      let address = addresses.map { $0[index] }.flatMap { $0.isEmpty || $0 == name ? nil : $0 }
      guard !name.isEmpty || address != nil else {
        throw refuse("the database address names an empty host")
      }
      hosts.append(Host(name.isEmpty ? address ?? "" : name, port: port, address: address))
    }
    return hosts
  }

  private static let mostHosts = 16
}

extension DatabaseConfiguration: CustomStringConvertible {
  /// The address without the password.
  public var description: String {
    "\(user)@\(hosts.map(\.description).joined(separator: ","))/\(database)"
  }
}

internal import CPostgreSQL

extension DatabaseConfiguration {
  /// Reads `postgresql://user:password@host:port/database?sslmode=…` or `host=… dbname=…`, by libpq's own rules.
  ///
  /// Recognized beside libpq's keywords: nothing; timeouts and the size of the pool are properties.
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
    func refuse(_ message: String) -> DatabaseError { DatabaseError(.invalidConfiguration, message) }
    let host = values.removeValue(forKey: "host") ?? values["hostaddr"] ?? "/var/run/postgresql"
    guard !host.contains(","), values["service"] == nil else { throw refuse("one host, and no service file") }
    guard let user = values.removeValue(forKey: "user") else { throw refuse("the database address names no user") }
    self.init(host: host, database: values.removeValue(forKey: "dbname") ?? user, user: user)
    if let address = values.removeValue(forKey: "hostaddr"), address != host { additionalParameters["hostaddr"] = address }
    if let text = values.removeValue(forKey: "port") {
      guard let port = UInt16(text), port > 0 else { throw refuse("the database's port is no port") }
      self.port = port
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

extension DatabaseConfiguration: CustomStringConvertible {
  /// The address without the password.
  public var description: String { "\(user)@\(isSocketPath ? "[\(host)]" : host):\(port)/\(database)" }
}

import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("Database configuration")
struct ConfigurationTests {
  @Test("A URL and its key=value form say the same")
  func forms() throws {
    let url = try DatabaseConfiguration(
      "postgresql://ana:p%40ss@db.example:6543/notes?sslmode=verify-full&connect_timeout=3&application_name=x")
    let pairs = try DatabaseConfiguration(
      "host=db.example port=6543 dbname=notes user=ana password='p@ss' sslmode=verify-full connect_timeout=3 application_name=x")
    for configuration in [url, pairs] {
      #expect(configuration.host == "db.example" && configuration.port == 6543 && configuration.database == "notes")
      #expect(configuration.user == "ana" && configuration.password == "p@ss" && configuration.tls == .verifyFull)
      #expect(configuration.connectTimeout == .seconds(3) && configuration.applicationName == "x")
      #expect(!"\(configuration)".contains("p@ss"))
      try configuration.validate()
    }
    let socket = try DatabaseConfiguration("postgresql://ana@/notes?host=/run/pg&port=1")
    #expect(socket.isSocketPath && socket.port == 1 && socket.isLocal)
  }

  @Test(
    "A server elsewhere must be verified, unless the operator says otherwise",
    arguments: ["disable", "allow", "prefer", "require", "verify-ca"])
  func verification(mode: String) throws {
    var configuration = try DatabaseConfiguration("postgresql://a@db.example/x?sslmode=\(mode)")
    #expect(throws: DatabaseError.self) { try configuration.validate() }
    configuration.allowsUnverifiedServer = true
    try configuration.validate()
    for local in ["localhost", "127.0.0.1", "[::1]"] {
      try DatabaseConfiguration("postgresql://a@\(local)/x?sslmode=\(mode)").validate()
    }
    #expect(throws: DatabaseError.self) { try DatabaseConfiguration("postgresql://a@127.example/x?sslmode=\(mode)").validate() }
    #expect(try DatabaseConfiguration("postgresql://a@db.example/x").effectiveTLS == .verifyFull)
  }

  @Test(
    "What cannot be read is refused without being quoted",
    arguments: [
      "nonsense with secret", "postgresql://a:secret@h:99999/x", "postgresql://a:secret@h/x?sslmode=maybe",
      "postgresql://:secret@h/x",
      "postgresql://a:secret@h:1,i:2,j/x?port=1,2", "postgresql://a:secret@h,i:x/x", "postgresql://a:secret@h,/x",
      "postgresql://a:secret@h,i/x?hostaddr=127.0.0.1", "postgresql://a:secret@h/x?target_session_attrs=standby",
      "postgresql://a:secret@h/x?bogus=1", "host=h password=secret",
    ])
  func refused(text: String) {
    let error = #expect(throws: DatabaseError.self) { try DatabaseConfiguration(text) }
    #expect(error?.code == .invalidConfiguration && error?.message.contains("secret") == false)
  }

  @Test("Several hosts are read with their ports and addresses, and only `any` takes a server that is no primary (PF-06)")
  func hosts() throws {
    let url = try DatabaseConfiguration("postgresql://ana@a.example:6543,[::1],c.example:1/notes")
    #expect(url.hosts == [.init("a.example", port: 6543), .init("::1"), .init("c.example", port: 1)] && url.requiresPrimary)
    #expect(
      url.host == "a.example" && url.port == 6543 && !url.isLocal && "\(url)".hasPrefix("ana@a.example:"))
    let pairs = try DatabaseConfiguration(
      "host=a.example,b.example hostaddr=127.0.0.1,127.0.0.2 port=7 user=ana target_session_attrs=any")
    #expect(
      pairs.hosts == [.init("a.example", port: 7, address: "127.0.0.1"), .init("b.example", port: 7, address: "127.0.0.2")])
    #expect(!pairs.requiresPrimary)
    // One of them elsewhere, and the server must be verified.
    let mixed = try DatabaseConfiguration("postgresql://a@localhost,db.example/x?sslmode=disable")
    #expect(throws: DatabaseError.self) { try mixed.validate() }
    try DatabaseConfiguration("postgresql://a@localhost,127.0.0.1/x?sslmode=disable").validate()
    let most = (1...16).map { "h\($0)" }.joined(separator: ",")
    #expect(try DatabaseConfiguration("postgresql://a@\(most)/x").hosts.count == 16)
    #expect(throws: DatabaseError.self) { try DatabaseConfiguration("postgresql://a@\(most),h17/x") }
  }

  @Test("Copies that would open too many connections are told so")
  func budget() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in try await database.checkConnectionBudget() }
      try await test.open({ $0.copies = 1000 }) { database in
        #expect(await databaseError { try await database.checkConnectionBudget() }?.code == .invalidConfiguration)
      }
    }
  }

  @Test("As many loops fit as the budget then allows, and one more does not (PF-05)", arguments: [1, 2, 3, 7, 19, 100])
  func mostLoops(copies: Int) {
    for pool in [1, 4, 8] {
      for limit in [20, 100, 200, 1_000] {
        var configuration = DatabaseConfiguration(host: "h", database: "d", user: "u")
        (configuration.copies, configuration.poolSize) = (copies, pool)
        let most = configuration.mostLoops(maximumConnections: limit)
        if most > 0 { #expect(configuration.connections(loops: most) < limit - 10) }
        #expect(configuration.connections(loops: most + 1) >= limit - 10)
      }
    }
  }

  @Test("The host name is looked up and the password read from its file, off the loop")
  func lookUp() async throws {
    let server = try await PrivatePostgreSQL.start()
    defer { server.remove() }
    try await TestDatabase.with(on: server.configuration()) { test in
      var configuration = test.configuration
      configuration.host = "localhost"
      configuration.passwordFile = "\(server.directory)/password"
      try await Session.with(configuration, group: test.group, log: test.log) { session in
        let isTCP: Bool? = try await session.value("select inet_client_addr() is not null")
        #expect(isTCP == true)
      }
      configuration.passwordFile = nil
      configuration.password = "wrong"
      let error = await databaseError { try await Session.with(configuration, group: test.group, log: test.log) { _ in } }
      #expect(error?.code == .connectionLost && error?.message.contains("wrong") == false)
      configuration.host = "no-such-host.invalid"
      let unknown = await databaseError { try await Session.with(configuration, group: test.group, log: test.log) { _ in } }
      #expect(unknown?.code == .connectionLost)
    }
  }
}

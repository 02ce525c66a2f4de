import DemoService
import EventLoop
import Glibc
import Testing

@testable import ServiceKit

@Suite("Settings")
struct SettingsTests {
  static let secret = "s3cret-\(UInt64.random(in: .min ... .max))"

  static func settings(_ environment: [String: String] = [:], flags: [String: String] = [:]) throws -> Settings {
    try Settings(service: "demo", keys: DemoService.keys, flags: flags, environment: environment)
  }

  static func problems(_ environment: [String: String], flags: [String: String] = [:]) -> [ConfigurationError.Problem] {
    do {
      _ = try settings(environment, flags: flags)
      return []
    } catch {
      return (error as? ConfigurationError)?.problems ?? []
    }
  }

  static func withFile<Value>(_ contents: [UInt8], _ body: (String) throws -> Value) throws -> Value {
    let path = "/tmp/servicekit-\(UInt64.random(in: .min ... .max))"
    let file = try #require(fopen(path, "we"))
    contents.withUnsafeBytes { _ = fwrite($0.baseAddress, 1, $0.count, file) }
    fclose(file)
    defer { unlink(path) }
    return try body(path)
  }

  @Test("A key's variable and flag follow from its name")
  func names() {
    #expect(StandardKeys.tlsClientCA.variable == "TLS_CLIENT_CA")
    #expect(StandardKeys.tlsClientCA.flag == "tls-client-ca")
    #expect(StandardKeys.portFile.variable == "PORT_FILE")
    #expect(StandardKeys.maxRequestBytes.variable == "MAX_REQUEST_BYTES")
    #expect(StandardKeys.corsOrigins.variable == "CORS_ORIGINS")
    #expect(Settings.prefix("auth") == "PARLEY_AUTH_")
  }

  @Test("B-26: flags come before the environment, the environment before aliases, aliases before defaults")
  func precedence() throws {
    let key = DemoService.burst
    #expect(try Self.settings()[key] == 30)
    #expect(try Self.settings(["RATE_BURST": "31"])[key] == 31)
    #expect(try Self.settings(["RATE_BURST": "31", "PARLEY_DEMO_RATE_BURST": "32"])[key] == 32)
    #expect(try Self.settings(["RATE_BURST": "31", "PARLEY_DEMO_RATE_BURST": "32"], flags: ["rate.burst": "33"])[key] == 33)
  }

  @Test(
    "A flag may name a key in each of its forms", arguments: ["rate.burst", "RATE_BURST", "PARLEY_DEMO_RATE_BURST", "rate-burst"])
  func flagNames(_ name: String) throws {
    #expect(try Self.settings(flags: [name: "7"])[DemoService.burst] == 7)
  }

  @Test("Where a value came from is told")
  func sources() throws {
    let source = { (settings: Settings) in settings.entries.first { $0.key.name == "rate.burst" }?.source }
    #expect(source(try Self.settings()) == "default")
    #expect(source(try Self.settings(["RATE_BURST": "31"])) == "RATE_BURST")
    #expect(source(try Self.settings(["PARLEY_DEMO_RATE_BURST": "31"])) == "PARLEY_DEMO_RATE_BURST")
    #expect(source(try Self.settings(flags: ["rate.burst": "31"])) == "flag rate.burst")
    try Self.withFile(Array("31".utf8)) { (path: String) throws in
      #expect(source(try Self.settings(["PARLEY_DEMO_RATE_BURST_FILE": path])) == "PARLEY_DEMO_RATE_BURST_FILE=\(path)")
    }
  }

  @Test("An alias may convert: PORT gives a whole address")
  func convertingAlias() throws {
    #expect(try Self.settings(["PORT": "10000"])[StandardKeys.listen]?.description == "127.0.0.1:10000")
  }

  @Test(
    "Any key may be read from a file, without one line end at its end",
    arguments: [("key", "key"), ("key\n", "key"), ("key\r\n", "key"), ("key\n\n", "key\n"), (" key ", " key ")])
  func files(_ contents: String, _ value: String) throws {
    try Self.withFile(Array(contents.utf8)) { (path: String) throws in
      #expect(try Self.settings(["PARLEY_DEMO_API_KEY_FILE": path])[DemoService.apiKey] == value)
      #expect(try Self.settings(["OLD_API_KEY_FILE": path])[DemoService.apiKey] == value)
    }
  }

  @Test("A file that cannot be used ends the start: missing, a directory, no UTF-8, too large")
  func badFiles() throws {
    let problem = { (path: String) in Self.problems(["PARLEY_DEMO_API_KEY_FILE": path]).first?.description ?? "none" }
    #expect(
      problem("/nonexistent/key").contains("/nonexistent/key") && problem("/nonexistent/key").contains("PARLEY_DEMO_API_KEY_FILE")
    )
    #expect(problem("/tmp").contains("cannot be read"))
    try Self.withFile([0xff, 0xfe]) { #expect(problem($0).contains("not UTF-8")) }
    let largest = EnvironmentSource.maximumFileBytes
    try Self.withFile(Array(repeating: 0x61, count: largest + 1)) { #expect(problem($0).contains("more than")) }
    try Self.withFile(Array(repeating: 0x61, count: largest)) { #expect(problem($0) == "none") }
  }

  @Test("A value that is given both ways is refused, since one of them is a mistake")
  func givenTwice() throws {
    try Self.withFile(Array("7".utf8)) { (path: String) throws in
      let problems = Self.problems(["PARLEY_DEMO_RATE_BURST": "6", "PARLEY_DEMO_RATE_BURST_FILE": path])
      #expect(problems.count == 1 && problems[0].message.contains("given twice"))
    }
  }

  @Test("PORT_FILE is a key of its own, not the file of a key PORT")
  func portFile() throws {
    #expect(try Self.settings(["PARLEY_DEMO_PORT_FILE": "/run/ports"])[StandardKeys.portFile]?.path == "/run/ports")
  }

  @Test("An empty variable counts as absent")
  func empty() throws {
    #expect(try Self.settings(["PARLEY_DEMO_RATE_BURST": "", "RATE_BURST": "5"])[DemoService.burst] == 5)
  }

  @Test(
    "Both ends of a range are allowed, and nothing beyond",
    arguments: [("1", true), ("1000", true), ("0", false), ("1001", false), ("-1", false), ("1e2", false), ("", true)])
  func ranges(_ text: String, _ isAllowed: Bool) {
    #expect(Self.problems(["PARLEY_DEMO_RATE_BURST": text]).isEmpty == isAllowed)
  }

  @Test("B-26: an invalid value names the key, its variable, what was expected and where it was read")
  func invalid() throws {
    let problem = try #require(Self.problems(["RATE_BURST": "many"]).first)
    #expect(problem.key == "rate.burst" && problem.variable == "PARLEY_DEMO_RATE_BURST" && problem.source == "RATE_BURST")
    #expect(problem.message == "expected a whole number, 1 to 1000, got 'many'")
  }

  @Test("B-26: a missing value names the key, its variable and what it is for")
  func missing() throws {
    let key = ConfigurationKey<[String]>(required: "oidc.clientIds", "The client ids of the apps.")
    let error = #expect(throws: ConfigurationError.self) { try Settings(service: "auth", keys: [key], environment: [:]) }
    #expect(
      error?.description.contains("oidc.clientIds (PARLEY_AUTH_OIDC_CLIENT_IDS): must be set: The client ids of the apps.")
        == true)
  }

  @Test("A check of the key's own refuses a value of the right type")
  func checked() {
    #expect(Self.problems(["PARLEY_DEMO_TLS_KEY": "/nonexistent"]).first?.message.contains("a file that can be read") == true)
  }

  @Test("An unknown variable of the service ends the start and the nearest known one is suggested")
  func unknown() {
    let problems = Self.problems(["PARLEY_DEMO_RATE_BRUST": "5", "PARLEY_OTHER_THING": "x", "PARLEY_DEMO_X": "y", "HOME": "/"])
    #expect(problems.map(\.variable) == ["PARLEY_DEMO_RATE_BRUST", "PARLEY_DEMO_X"])
    #expect(problems.first?.message.contains("did you mean PARLEY_DEMO_RATE_BURST?") == true)
    #expect(Self.problems([:], flags: ["rate.brust": "5"]).first?.message.contains("did you mean rate.burst?") == true)
  }

  @Test("All problems are told at once")
  func together() {
    #expect(Self.problems(["PARLEY_DEMO_RATE_BURST": "0", "PARLEY_DEMO_LOOPS": "x", "PARLEY_DEMO_Y": "1"]).count == 3)
  }

  @Test("B-26: no secret is ever shown: not in errors, not in the table, not in JSON")
  func secrets() throws {
    let strict = ConfigurationKey<Int?>(optional: "pin", isSecret: true, "A number that is secret.")
    let error = #expect(throws: ConfigurationError.self) {
      try Settings(service: "demo", keys: [strict], environment: ["PARLEY_DEMO_PIN": Self.secret])
    }
    #expect(error?.description.contains("the value is hidden") == true && error?.description.contains(Self.secret) == false)

    let report = try ConfigCheckCommand<DemoService>.report([:], ["PARLEY_DEMO_API_KEY": Self.secret])
    let json = String(decoding: report.json, as: UTF8.self)
    #expect(report.isValid && report.text.contains("(hidden)") && json.contains("(hidden)"))
    #expect(!report.text.contains(Self.secret) && !json.contains(Self.secret))
  }

  @Test("The report lists every key with its source, what is open to anyone, warnings, and what is wrong")
  func report() throws {
    let report = try ConfigCheckCommand<DemoService>.report(["loops": "2"], ["PARLEY_DEMO_RATE_BURST": "9"])
    let lines = report.text.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("loops ") && $0.contains(" 2 ") && $0.contains("flag loops") })
    #expect(lines.contains { $0.hasPrefix("rate.burst ") && $0.contains("PARLEY_DEMO_RATE_BURST") && $0.contains("1 to 1000") })
    #expect(lines.contains { $0.hasPrefix("warning: apiKey:") })
    #expect(lines.contains { $0.hasSuffix("/parley.testing.v1.EchoService/Echo") })
    #expect(!lines.contains { $0.hasSuffix("/parley.testing.v1.EchoService/Guarded") })
    let wrong = try ConfigCheckCommand<DemoService>.report([:], ["PARLEY_DEMO_TLS_LISTEN": "127.0.0.1:0"])
    #expect(!wrong.isValid && wrong.text.contains("error: tls.certificate: must be set when tls.listen is"))
  }
}

import DemoService
import EventLoop
import Testing

@testable import ServiceKit

@Suite("Environments that others fill, too")
struct EnvironmentTests {
  private static func report(
    _ environment: [String: String], flags: [String: String] = [:]
  ) throws -> ConfigurationReport { try ConfigCheckCommand<DemoService>.report(flags, environment) }

  @Test(
    "What Kubernetes sets for services whose names begin as ours is no setting and does not end the start (PF-07)",
    arguments: [
      ("SERVICE_HOST", "10.0.171.239"), ("SERVICE_PORT", "8443"), ("SERVICE_PORT_GRPC", "8443"),
      ("SERVICE_PORT_GRPC_WEB", "8443"), ("PORT", "tcp://10.0.171.239:443"), ("PORT_8443_TCP", "tcp://10.0.171.239:443"),
      ("PORT_8443_TCP_PROTO", "tcp"), ("PORT_8443_TCP_PORT", "8443"), ("PORT_8443_TCP_ADDR", "10.0.171.239"),
      ("PORT_53_UDP_ADDR", "fd00::1"), ("ADMIN_SERVICE_HOST", "10.0.0.1"), ("ADMIN_SERVICE_PORT", "10001"),
      ("ADMIN_PORT", "tcp://10.0.0.1:81"), ("TLS_GREEN_PORT_10002_SCTP_PROTO", "sctp"),
    ])
  func serviceLinks(_ name: String, _ value: String) throws {
    let report = try Self.report(["PARLEY_DEMO_\(name)": value])
    #expect(report.isValid && report.problems.isEmpty, "\(report.text)")
    #expect(!report.findings.contains { $0.key.contains(name) })
  }

  @Test(
    "What only looks like a variable of Kubernetes is a mistake, as any other that belongs to no setting (PF-07)",
    arguments: [
      ("PORT", "8443"), ("ADMIN_PORT", "10001"), ("LISTEN_PORT", "127.0.0.1:1"), ("PORT_8443_TCP_NAME", "x"), ("PORT_X_TCP", "x"),
      ("PORT_8443", "x"), ("PORT_99999_TCP", "x"), ("SERVICE", "x"), ("SERVICE_HOSTS", "x"), ("SERVICEPORT", "1"),
      ("_SERVICE_HOST", "x"), ("ADMIN_LISTENS", "127.0.0.1:1"), ("RATE_BRUST", "5"),
    ])
  func typos(_ name: String, _ value: String) throws {
    let report = try Self.report(["PARLEY_DEMO_\(name)": value])
    #expect(!report.isValid && report.problems.map(\.variable) == ["PARLEY_DEMO_\(name)"])
  }

  @Test(
    "Settings of a newer version are a warning where that was asked for, for every command, and end the start where not (PF-07)",
    arguments: [
      (["PARLEY_DEMO_ENVIRONMENT_LENIENT": "true"], [:]), ([:], ["environment.lenient": "true"]),
      ([:], ["environment-lenient": "true"]),
    ])
  func newer(_ environment: [String: String], _ flags: [String: String]) throws {
    let newer = ["PARLEY_DEMO_OF_TOMORROW": "5", "PARLEY_DEMO_OF_TOMORROW_FILE": "/nowhere"]
    #expect(try !Self.report(newer).isValid)
    let report = try Self.report(newer.merging(environment) { $1 }, flags: flags)
    #expect(report.isValid, "\(report.text)")
    #expect(report.findings.filter { $0.severity == .warning && newer[$0.key] != nil }.count == 2)
    // A command that reads some keys meets the same environment.
    let some = try Settings(
      service: "demo", keys: [StandardKeys.listen], flags: flags, environment: newer.merging(environment) { $1 },
      others: DemoService.keys)
    #expect(some.ignoredVariables.count == 2)
    // A value that is wrong is wrong all the same.
    #expect(try !Self.report(environment.merging(["PARLEY_DEMO_LOOPS": "many"]) { $1 }, flags: flags).isValid)
  }

  @Test("A wrong word for it is told, and lets nothing pass (PF-07)")
  func wrongWord() throws {
    let environment = ["PARLEY_DEMO_ENVIRONMENT_LENIENT": "perhaps", "PARLEY_DEMO_X": "1"]
    let problems = try Self.report(environment).problems.map(\.variable)
    #expect(problems.sorted() == ["PARLEY_DEMO_ENVIRONMENT_LENIENT", "PARLEY_DEMO_X"])
    #expect(throws: ConfigurationError.self) {
      try Settings(service: "demo", keys: [StandardKeys.listen], environment: environment, others: DemoService.keys)
    }
  }

  @Test(
    "The admin page is shown to other machines where a setting of its own allows it, with a warning, and nowhere else (PF-08)")
  func exposed() throws {
    for address in ["0.0.0.0:9000", "[::]:9000", "192.0.2.1:9000"] {
      for flag in [nil, "false"] {
        var environment = ["PARLEY_DEMO_ADMIN_LISTEN": address]
        environment["PARLEY_DEMO_ADMIN_EXPOSED"] = flag
        let report = try Self.report(environment)
        #expect(!report.isValid && report.text.contains("error: admin.listen: expected an address on the loopback interface"))
      }
      let report = try Self.report(["PARLEY_DEMO_ADMIN_LISTEN": address, "PARLEY_DEMO_ADMIN_EXPOSED": "true"])
      #expect(report.isValid && report.text.contains("warning: admin.listen: "), "\(report.text)")
    }
    for address in ["127.0.0.1:9000", "[::1]:9000", "unix:/run/admin.sock"] {
      let report = try Self.report(["PARLEY_DEMO_ADMIN_LISTEN": address])
      #expect(report.isValid && !report.text.contains("warning: admin.listen"), "\(address)")
    }
  }
}

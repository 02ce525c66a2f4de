import Glibc
import Testing

@Suite("A service as a process")
struct ProcessTests {
  private static func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> (
    code: Int32, output: String
  ) {
    try await DemoProcess.run([DemoProcess.program] + arguments, environment: environment)
  }

  @Test("SIGTERM and SIGINT drain and exit with 0", arguments: [SIGTERM, SIGINT])
  func drains(signal: Int32) async throws {
    let process = try await DemoProcess.serving()
    process.signal(signal)
    #expect(try await process.exitCode() == 0)
    #expect(process.log.contains("\"message\":\"drained\"") && process.log.contains("\"message\":\"stopped\""))
  }

  @Test("A call that was accepted before SIGTERM is answered, and the exit waits for it")
  func finishesCalls() async throws {
    let process = try await DemoProcess.serving(["--slow", "1s"], environment: ["PARLEY_DEMO_LOG_LEVEL": "info"])
    let port = try await process.port("grpc")
    async let answer = DemoProcess.curl(port, "/slow", ["-w", "status %{http_code}"])
    // The call is under way once its connection is counted.
    let admin = process
    try await Self.waitForConnection(admin, port)
    process.signal(SIGTERM)
    #expect(try await answer.contains("status 200"))
    #expect(try await process.exitCode() == 0)
  }

  /// Waits until somebody is connected to the port: the kernel knows.
  private static func waitForConnection(_ process: DemoProcess, _ port: String) async throws {
    let hexadecimal = String(try #require(Int(port)), radix: 16, uppercase: true)
    let needle = ":" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
    _ = try await process.wait("connection") { () -> Bool? in
      guard let table = try? TextFile.read("/proc/net/tcp") else { return nil }
      // Established, our port on the local side, and nothing of the request still unread.
      let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
      return rows.contains { $0.count > 4 && $0[1].hasSuffix(needle) && $0[3] == "01" && $0[4].hasSuffix(":00000000") }
        ? true : nil
    }
  }

  @Test("A second signal ends the process at once, with 128 + its number")
  func secondSignal() async throws {
    let process = try await DemoProcess.serving(["--slow", "60s"])
    let port = try await process.port("grpc")
    async let answer = DemoProcess.curl(port, "/slow")
    try await Self.waitForConnection(process, port)
    process.signal(SIGTERM)
    _ = try await process.wait("drain") { process.log.contains("draining") ? true : nil }
    process.signal(SIGINT)
    #expect(try await process.exitCode() == 130)
    _ = try await answer
  }

  @Test("What outlasts the drain's bound is cut off, and the exit is still clean")
  func bound() async throws {
    let process = try await DemoProcess.serving(["--slow", "60s", "--drain-timeout", "200ms"])
    let port = try await process.port("grpc")
    async let answer = DemoProcess.curl(port, "/slow")
    try await Self.waitForConnection(process, port)
    process.signal(SIGTERM)
    #expect(try await process.exitCode() == 0)
    #expect(try await !answer.contains("200"))
  }

  @Test("B-26: wrong settings end the start with 78 and name what is wrong")
  func configuration() async throws {
    let wrong = try await Self.run("serve", environment: ["PARLEY_DEMO_RATE_BURST": "0", "PARLEY_DEMO_TYPO": "1"])
    #expect(wrong.code == 78)
    #expect(wrong.output.contains("rate.burst (PARLEY_DEMO_RATE_BURST): expected a whole number, 1 to 1000, got '0'"))
    #expect(wrong.output.contains("PARLEY_DEMO_TYPO: there is no such setting"))
    let half = try await Self.run("serve", environment: ["PARLEY_DEMO_TLS_LISTEN": "127.0.0.1:0"])
    #expect(half.code == 78 && half.output.contains("must be set when tls.listen is"))
  }

  @Test("A service starts among the variables of Kubernetes, with --lenient-environment among those of a newer version (PF-07)")
  func othersVariables() async throws {
    let links = ["PARLEY_DEMO_SERVICE_HOST": "10.0.0.1", "PARLEY_DEMO_PORT_8443_TCP_ADDR": "10.0.0.1"]
    let process = try await DemoProcess.serving(environment: links)
    process.signal(SIGTERM)
    #expect(try await process.exitCode() == 0)
    let newer = links.merging(["PARLEY_DEMO_OF_TOMORROW": "1"]) { $1 }
    let refused = try await Self.run("serve", environment: newer)
    #expect(refused.code == 78 && refused.output.contains("PARLEY_DEMO_OF_TOMORROW: there is no such setting"))
    let lenient = try await DemoProcess.serving(["--lenient-environment"], environment: newer)
    lenient.signal(SIGTERM)
    #expect(try await lenient.exitCode() == 0)
    #expect(lenient.log.contains("there is no such setting in this version") && lenient.log.contains("PARLEY_DEMO_OF_TOMORROW"))
  }

  @Test("The admin listener is reached by others where that was asked for, and the log warns of it (PF-08)")
  func exposed() async throws {
    let refused = try await Self.run("serve", "--admin-listen", "0.0.0.0:0")
    #expect(refused.code == 78 && refused.output.contains("admin.listen"))
    let process = try await DemoProcess.serving(["--admin-listen", "0.0.0.0:0", "--admin-exposed", "true"])
    let port = try await process.port("admin")
    #expect(try await DemoProcess.run(["curl", "-s", "-i", "http://127.0.0.1:\(port)/livez"]).output.contains("200"))
    #expect(process.log.contains("whoever reaches it"))
    process.signal(SIGTERM)
    #expect(try await process.exitCode() == 0)
  }

  @Test("A service with an unguarded method does not start: 70")
  func unguarded() async throws {
    let result = try await Self.run("serve", "--guarded=false")
    #expect(result.code == 70 && result.output.contains("/parley.testing.v1.EchoService/Guarded"))
  }

  @Test("A background job that fails ends the process with 70")
  func failingJob() async throws {
    let result = try await Self.run("serve", "--listen", "127.0.0.1:0", "--failing-job", "true")
    #expect(result.code == 70 && result.output.contains("a background job failed"))
  }

  @Test("An address in use is temporary: 75")
  func addressInUse() async throws {
    let process = try await DemoProcess.serving()
    let port = try await process.port("grpc")
    let second = try await Self.run("serve", "--listen", "127.0.0.1:\(port)")
    #expect(second.code == 75 && second.output.contains("in use"))
  }

  @Test(
    "A wrong command line is 64",
    arguments: [
      ["serve", "--set", "loops"], ["serve", "loops=1"], ["serve", "--loops"], ["nonsense"], ["config", "nonsense"],
    ])
  func usage(_ arguments: [String]) async throws {
    #expect(try await DemoProcess.run([DemoProcess.program] + arguments).code == 64)
  }

  @Test("config check prints a table or JSON and never a secret, and exits with 0 or 78")
  func configCheck() async throws {
    let environment = ["PARLEY_DEMO_API_KEY": "planted-secret"]
    let table = try await Self.run("config", "check", environment: environment)
    #expect(table.code == 0 && table.output.contains("(hidden)") && table.output.contains("the configuration is valid"))
    let json = try await Self.run("config", "check", "--json", environment: environment)
    #expect(json.code == 0 && json.output.hasPrefix("{") && json.output.contains("\"valid\""))
    #expect(!table.output.contains("planted-secret") && !json.output.contains("planted-secret"))
    let wrong = try await Self.run("config", "check", "--set", "loops=1000")
    #expect(wrong.code == 78 && wrong.output.contains("error: loops"))
  }

  @Test("health answers with the exit codes of grpc-health-probe")
  func health() async throws {
    let process = try await DemoProcess.serving()
    let address = "127.0.0.1:\(try await process.port("grpc"))"
    #expect(try await Self.run("health", "--address", address) == (0, "serving\n"))
    #expect(try await Self.run("health", "--address", address, "--service", "parley.testing.v1.EchoService").code == 0)
    #expect(try await Self.run("health", "--address", address, "--service", "none.Such").code == 3)
    #expect(try await Self.run("health", environment: ["PARLEY_DEMO_LISTEN": address, "PARLEY_DEMO_LOOPS": "2"]).code == 0)
    #expect(try await Self.run("health", "--address", "nowhere").code == 1)
    #expect(try await Self.run("health", "--nonsense").code == 1)
    process.signal(SIGTERM)
    #expect(try await process.exitCode() == 0)
    #expect(try await Self.run("health", "--address", address).code == 2)
  }

  @Test("While it drains, health says NOT_SERVING to whoever is still connected, and new connections are refused")
  func notServing() async throws {
    let process = try await DemoProcess.serving(["--slow", "2s", "--admin-listen", "127.0.0.1:0"])
    let (port, admin) = (try await process.port("grpc"), try await process.port("admin"))
    let page = { (path: String) in
      try await DemoProcess.run(["curl", "-s", "-w", " %{http_code}", "http://127.0.0.1:\(admin)\(path)"]).output
    }
    #expect(try await page("/readyz") == "ok\n 200")
    async let answer = DemoProcess.curl(port, "/slow")
    try await Self.waitForConnection(process, port)
    process.signal(SIGTERM)
    _ = try await process.wait("drain") { process.log.contains("draining") ? true : nil }
    #expect(try await page("/readyz") == "not serving: draining\n 503")
    #expect(try await page("/livez") == "ok\n 200")
    #expect(try await Self.run("health", "--address", "127.0.0.1:\(port)").code == 2)
    #expect(try await answer.contains("slow"))
    #expect(try await process.exitCode() == 0)
  }

  @Test("Every plain HTTP answer has the headers for browsers and a request id: 200, 204, 404, 405, 429 and 500")
  func http() async throws {
    let process = try await DemoProcess.serving()
    let port = try await process.port("grpc")
    let expected = [
      ("/hello", [], "200"), ("/hello", ["-X", "OPTIONS"], "204"), ("/nowhere", [], "404"),
      ("/nowhere", ["-X", "OPTIONS"], "204"),
      ("/hello", ["-X", "DELETE"], "405"), ("/limited", [], "429"), ("/broken", [], "500"),
    ]
    for (path, options, status) in expected {
      let answer = try await DemoProcess.curl(port, path, options).lowercased()
      #expect(answer.hasPrefix("http/2 \(status)"), "\(path): \(answer)")
      #expect(
        answer.contains("access-control-allow-origin: *") && answer.contains("vary: origin") && answer.contains("x-request-id: "))
    }
    #expect(try await DemoProcess.curl(port, "/limited").contains("retry-after: 2"))
    let broken = try await DemoProcess.curl(port, "/broken", ["-H", "x-request-id: find-me"])
    #expect(!broken.contains("innards") && broken.contains("incident"))
    #expect(process.log.contains("innards") && process.log.contains("\"request_id\":\"find-me\""))
  }

  @Test("B-17: the client's address comes from a trusted proxy only")
  func clientAddress() async throws {
    let header = ["-H", "x-forwarded-for: 203.0.113.9"]
    let open = try await DemoProcess.serving()
    let direct = try await DemoProcess.curl(open.port("grpc"), "/client", header)
    #expect(direct.hasSuffix("127.0.0.1"))
    let behind = try await DemoProcess.serving(["--trusted-proxies", "127.0.0.0/8"])
    let proxied = try await DemoProcess.curl(behind.port("grpc"), "/client", header)
    #expect(proxied.hasSuffix("203.0.113.9"))
  }

  @Test("The admin listener has metrics of calls, and the access log a line for each")
  func metrics() async throws {
    let process = try await DemoProcess.serving(["--admin-listen", "127.0.0.1:0"])
    let address = "127.0.0.1:\(try await process.port("grpc"))"
    #expect(try await Self.run("health", "--address", address).code == 0)
    _ = try await DemoProcess.curl(process.port("grpc"), "/hello")
    let metrics = try await DemoProcess.run(["curl", "-s", "http://127.0.0.1:\(process.port("admin"))/metrics"]).output
    #expect(metrics.contains(#"grpc_server_call_started_total{grpc_method="grpc.health.v1.Health/Check"} 1"#))
    #expect(metrics.contains("http_server_request_duration_seconds_count") && metrics.contains(#"path="/hello""#))
    #expect(process.log.contains(#""method":"/grpc.health.v1.Health/Check""#) && process.log.contains(#""path":"/hello""#))
  }

  @Test("A debug build says so, and version names the libraries")
  func version() async throws {
    let version = try await Self.run("version")
    #expect(
      version.code == 0 && version.output.contains("nghttp2 1.") && version.output.contains("libpq 1")
        && version.output.contains("tzdata"))
    let process = try await DemoProcess.serving()
    #expect(process.log.contains("debug build"))
  }
}

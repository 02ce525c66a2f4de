import EventLoop
import Glibc
import TestSupport
import Testing

@Suite("A process whose loop is blocked")
struct StallProcessTests {
  /// A named pipe at which the service's handlers block until the test lets them go.
  private final class NamedPipe: Sendable {
    let path = "/tmp/servicekit-gate-\(UInt64.random(in: .min ... .max))"

    init() throws { try #require(mkfifo(path, 0o600) == 0) }
    deinit { unlink(path) }

    /// Lets one handler go on, once there is one.
    func open(_ process: DemoProcess) async throws {
      let path = path
      try await process.wait("handler at the pipe") { () -> Void? in
        // Without a reader this fails instead of waiting for ever.
        let descriptor = Glibc.open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        return close(descriptor) == 0 ? () : nil
      }
    }
  }

  private static func echo(_ port: String, _ text: String) async throws -> String {
    try await DemoProcess.run([
      "curl", "-s", "--max-time", "30", "--http2-prior-knowledge", "-H", "content-type: application/json", "-H",
      "connect-protocol-version: 1", "-d", "{\"text\":\"\(text)\"}",
      "http://127.0.0.1:\(port)/parley.testing.v1.EchoService/Echo",
    ]).output
  }

  @Test(
    "The handler that blocks is named: an RPC at once or after it was resumed, and an HTTP route",
    arguments: [
      ("block", "\"handler\":\"/parley.testing.v1.EchoService/Echo\""),
      ("suspend, then block", "\"handler\":\"/parley.testing.v1.EchoService/Echo, resumed\""),
      ("", "\"handler\":\"/block\""),
    ])
  func named(_ text: String, _ handler: String) async throws {
    let gate = try NamedPipe()
    // Above what a first call takes, which would be a stall that goes over into the one that is meant.
    let threshold = Int(Duration.milliseconds(100).withPatience / .milliseconds(1))
    let process = try await DemoProcess.serving([
      "--gate", gate.path, "--stall-threshold", "\(threshold)ms", "--admin-listen", "127.0.0.1:0",
    ])
    let port = try await process.port("grpc")
    async let answer = text.isEmpty ? DemoProcess.curl(port, "/block") : Self.echo(port, text)
    // On a machine that is slow enough, what comes before the gate is a stall of its own.
    let line = { @Sendable (message: String) in
      process.log.split(separator: "\n").first { $0.contains(message) && $0.contains(handler) }.map(String.init)
    }
    let begun = try await process.wait("line at the onset") { line("a loop does not go on") }
    #expect(begun.contains("\"loop\":\"demo-0\"") && begun.contains("\"loop_index\":\"0\""), "\(begun)")
    try await gate.open(process)
    let over = try await process.wait("line at the end") { line("the loop goes on") }
    #expect(over.contains("took_ms"), "\(over)")
    #expect(try await answer.contains(text.isEmpty ? "went on" : text))
    let metrics = try await DemoProcess.run(["curl", "-s", "http://127.0.0.1:\(process.port("admin"))/metrics"]).output
    let label = text.isEmpty ? "/block" : "/parley.testing.v1.EchoService/Echo"
    #expect(metrics.contains("parley_loop_stalls_total{handler=\"\(label)\"}"), "\(metrics)")
    process.signal(SIGTERM)
    #expect(try await process.exitCode() == 0)
  }

  @Test("The watchdog is fed while every loop turns, not while one is blocked, and again afterwards")
  func watchdog() async throws {
    let gate = try NamedPipe()
    let supervisor = try NotifySocket()
    let process = try await DemoProcess.serving(
      ["--gate", gate.path, "--loops", "2", "--stall-threshold", "100ms"],
      environment: ["NOTIFY_SOCKET": supervisor.name, "WATCHDOG_USEC": "1000000"])
    try await supervisor.wait(for: "READY=1")
    for _ in 0..<2 { try await supervisor.wait(for: "WATCHDOG=1") }
    let port = try await process.port("grpc")
    async let answer = DemoProcess.curl(port, "/block", ["--max-time", "60"])
    _ = try await process.wait("stall") { process.log.contains("a loop does not go on") ? true : nil }
    // Half of the interval is what a stall may take before the signs of life stop; two seconds are four of them.
    try await supervisor.silence(for: .seconds(2), within: .seconds(20))
    try await gate.open(process)
    try await supervisor.wait(for: "WATCHDOG=1")
    #expect(try await answer.contains("went on"))
    process.signal(SIGTERM)
    try await supervisor.wait(for: "STOPPING=1")
    #expect(try await process.exitCode() == 0)
  }
}

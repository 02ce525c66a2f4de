import ArgumentParser
import Dispatch
import EventLoop
import Glibc
import HTTP2
import RPC
import RPCClient

/// The program: makes the calls of one of the public gRPC interoperability tests and says whether the server passed.
struct InteropClient: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "interop-client",
    abstract: "Run one case of the public gRPC interoperability tests against a server.",
    discussion: "It prints one line and ends with 0 when the case passed, else with 1. The cases:\n"
      + TestCase.all.map { "  \($0.name)" }.joined(separator: "\n"))

  @Option(help: "The host to call.") var host = "127.0.0.1"
  @Option(help: "The port there.") var port: UInt16
  @Option(name: .customLong("test_case"), help: "The case to run.") var testCase: String
  @Flag(help: "Speak TLS.") var tls = false
  @Option(help: "Certificates to trust, PEM; what the system trusts when absent.") var ca: String?
  @Option(name: .customLong("server_name"), help: "The name to call the server by, also in its certificate.") var serverName:
    String?
  @Option(help: "Seconds that the case may take.") var timeout = 60
  @OptionGroup var soak: SoakOptions

  func run() throws {
    guard let testCase = TestCase.all.first(where: { $0.name == testCase }) else {
      end(1, "unknown test case '\(testCase)'; there are: \(TestCase.all.map(\.name).joined(separator: " "))")
    }
    let group = try EventLoopGroup(count: 1, name: "interop")
    let stage = Stage(target: try target(), tls: try tlsContext(), group: group, soak: soak)
    let limit = Duration.seconds(timeout)
    // The main thread only waits: the calls live on the loop.
    let done = DispatchSemaphore(value: 0)
    let outcome = Outcome()
    group.loops[0].spawn {
      outcome.set(await testCase.outcome(on: stage, within: limit))
      await stage.channel.close()
      done.signal()
    }
    done.wait()
    group.shutDown()
    if let failure = outcome.failure { end(1, "\(testCase.name) failed: \(failure)") }
    end(0, "\(testCase.name) passed")
  }

  private func target() throws -> ChannelTarget {
    guard let serverName else { return .host(host, port: port) }
    return .addresses(try SocketAddress.resolve(host: host, port: port), authority: serverName)
  }

  private func tlsContext() throws -> TLSContext? {
    guard tls else { return nil }
    return try TLSContext(.client(trustRoots: ca.map { .certificates(.file($0)) } ?? .system))
  }

  private func end(_ status: Int32, _ line: String) -> Never {
    print("interop-client: \(line)")
    fflush(nil)
    Glibc.exit(status)
  }
}

/// How the soak cases go about it; the names are those of the public programs.
struct SoakOptions: ParsableArguments {
  @Option(name: .customLong("soak_iterations"), help: "Calls to make.") var iterations = 10
  @Option(name: .customLong("soak_max_failures"), help: "Calls that may fail or be late.") var maximumFailures = 0
  @Option(
    name: .customLong("soak_per_iteration_max_acceptable_latency_ms"), help: "Milliseconds that a call may take.")
  var maximumLatencyMilliseconds = 1_000
  @Option(name: .customLong("soak_min_time_ms_between_rpcs"), help: "Milliseconds from the start of a call to the next.")
  var minimumIntervalMilliseconds = 0
  @Option(name: .customLong("soak_request_size"), help: "Bytes of a request's body.") var requestBytes = 271_828
  @Option(name: .customLong("soak_response_size"), help: "Bytes of a response's body.") var responseBytes: Int32 = 314_159
}

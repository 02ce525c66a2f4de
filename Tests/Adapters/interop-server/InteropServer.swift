import ArgumentParser
import Dispatch
import EventLoop
import Glibc
import HTTP2
import JudgedServer
import RPC
import RPCServer

/// The program: serves the calls of the public gRPC interoperability tests until it is asked to end.
struct InteropServer: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "interop-server",
    abstract: "Serve grpc.testing.TestService, health, reflection and a plain page at /.",
    discussion: """
      It prints 'listening on ADDRESS' once it does, and ends with 0 on SIGTERM or SIGINT when every call is answered.
      """)

  @Option(help: "The address to listen on.") var host = "127.0.0.1"
  @Option(help: "The port to listen on; 0 takes any free one.") var port: UInt16
  @Flag(help: "Speak TLS; --cert and --key are needed then.") var tls = false
  @Option(help: "The certificate chain, PEM.") var cert: String?
  @Option(help: "The certificate's private key, PEM.") var key: String?
  @Option(help: "Certificates, PEM, one of which must have signed what a client shows: mutual TLS.") var clientCa: String?
  @Option(help: "The largest request message, in bytes.") var maxMessage = 4 << 20
  @Option(help: "Event loops; one per core when absent.") var loops: Int?

  func validate() throws {
    guard tls == (cert != nil), tls == (key != nil) else { throw ValidationError("--tls goes with --cert and --key.") }
    guard clientCa == nil || tls else { throw ValidationError("--client-ca goes with --tls.") }
    guard maxMessage > 0, loops ?? 1 > 0 else { throw ValidationError("A size and a number of loops are above zero.") }
  }

  /// The main thread only waits for the signal: a main thread that Swift's concurrency parks would take it unhandled.
  func run() throws {
    let group = try EventLoopGroup(count: loops, name: "interop")
    defer { group.shutDown() }
    let health = HealthStatus(services: InteropServices.names)
    let server = InteropServices.server(on: group, health: health, configuration: configuration)
    let host = host.contains(":") ? "[\(host)]" : host
    let address = try server.listen(on: SocketAddress("\(host):\(port)"), tls: try tlsContext())
    health.started()
    print("listening on \(address)")
    fflush(nil)
    TerminationSignals.wait()
    health.startDraining()
    health.finish()
    let drained = DispatchSemaphore(value: 0)
    group.loops[0].spawn {
      await server.drain(within: .seconds(10))
      drained.signal()
    }
    drained.wait()
  }

  private var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration.judged
    configuration.maximumRequestBytes = maxMessage
    return configuration
  }

  private func tlsContext() throws -> TLSContext? {
    guard let cert, let key else { return nil }
    let clients = clientCa.map { TLSConfiguration.ClientCertificates.required(.certificates(.file($0))) } ?? .none
    return try TLSContext(
      .server(identity: .init(certificateChain: .file(cert), privateKey: .file(key)), clients: clients))
  }
}

import ConnectConformance
import Dispatch
import EventLoop
import HTTP2
import JudgeAPI
import JudgedServer
import MessagesCore
import RPC
import RPCServer

/// The server that the judge of Connect examines: asked once over standard input how to serve, then it serves until SIGTERM.
struct ConformanceServer {
  /// The main thread only waits for the signal: a main thread that Swift's concurrency parks would take it unhandled.
  func run() throws {
    let pipe = JudgePipe()
    guard let request = try pipe.read(Judged.ServerCompatRequest.self) else { throw Refusal("no request came") }
    guard request.httpVersion != .httpVersion1, request.httpVersion != .httpVersion3 else {
      throw Refusal("HTTP/2 is all that is spoken here")
    }
    let group = try EventLoopGroup(name: "conformance")
    defer { group.shutDown() }
    let server = RPCServer(
      on: group, services: [Judged.ConformanceService.routes(ConformanceHandlers())],
      configuration: configuration(request))
    let address = try server.listen(on: SocketAddress(.ipv4([127, 0, 0, 1], port: 0)), tls: try tlsContext(request))
    let certificate = request.useTls ? request.serverCreds?.cert ?? Bytes() : Bytes()
    try pipe.write(
      Judged.ServerCompatResponse(host: address.host, port: UInt32(address.port ?? 0), pemCert: certificate))
    TerminationSignals.wait()
    let drained = DispatchSemaphore(value: 0)
    group.loops[0].spawn {
      await server.drain(within: .seconds(1))
      drained.signal()
    }
    drained.wait()
  }

  private func configuration(_ request: Judged.ServerCompatRequest) -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration.judged
    if request.messageReceiveLimit > 0 { configuration.maximumRequestBytes = Int(request.messageReceiveLimit) }
    configuration.messageRegistry = .conformance
    // Whoever accepts compressed responses gets them, however small: so that they are judged.
    configuration.responseCompression = .gzip
    configuration.minimumCompressedBytes = 0
    return configuration
  }

  private func tlsContext(_ request: Judged.ServerCompatRequest) throws -> TLSContext? {
    guard request.useTls else { return nil }
    guard let own = request.serverCreds else { throw Refusal("TLS needs a certificate and its key") }
    let roots = TLSConfiguration.TrustRoots.certificates(.bytes([UInt8](request.clientTlsCert)))
    return try TLSContext(
      .server(
        identity: .init(certificateChain: .bytes([UInt8](own.cert)), privateKey: .bytes([UInt8](own.key))),
        clients: request.clientTlsCert.isEmpty ? .none : .required(roots)))
  }
}

/// Why the judge's wish is not served.
struct Refusal: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

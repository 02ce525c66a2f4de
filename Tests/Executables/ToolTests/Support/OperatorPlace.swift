import EventLoop
import HTTP2
import RPC
import RPCServer
import TestSupport

/// How the command line gets to a server that wants an operator's certificate.
struct OperatorPlace {
  /// The server.
  let target: String
  /// The authority of both sides, and the operator's certificate.
  let files: (ca: ScratchFile, certificate: ScratchFile, key: ScratchFile)

  /// As settings.
  var environment: [String: String] {
    [
      "PARLEY_TARGET": target, "PARLEY_CA_FILE": files.ca.path, "PARLEY_OPERATOR_CERTIFICATE": files.certificate.path,
      "PARLEY_OPERATOR_KEY": files.key.path,
    ]
  }
  /// As arguments.
  var arguments: [String] {
    ["--target", target, "--ca", files.ca.path, "--certificate", files.certificate.path, "--key", files.key.path]
  }

  /// Runs `body` with a server of these services.
  static func serve(
    _ services: [ServiceRoutes], on group: EventLoopGroup, _ body: (OperatorPlace) async throws -> Void
  ) async throws {
    let authority = TestAuthority()
    let (server, client) = (authority.server(), authority.client(commonName: "operator", uris: ["spiffe://parley/operator"]))
    let tls = try TLSContext(
      .server(
        identity: .init(certificateChain: .bytes(server.certificateChain), privateKey: .bytes(server.privateKey)),
        clients: .required(.certificates(.bytes(authority.certificate)))))
    let served = RPCServer(on: group, services: services)
    let address = try served.listen(on: SocketAddress("127.0.0.1:0"), tls: tls)
    let outcome: Result<Void, any Error>
    do {
      let files = (
        ca: try ScratchFile(authority.certificate), certificate: try ScratchFile(client.certificateChain),
        key: try ScratchFile(client.privateKey)
      )
      outcome = .success(try await body(OperatorPlace(target: "localhost:\(address.port ?? 0)", files: files)))
    } catch { outcome = .failure(error) }
    await served.drain(within: .seconds(1))
    try outcome.get()
  }
}

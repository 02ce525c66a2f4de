import EventLoop
import ParleyAPI
import RPC
import RPCServer

/// A broker in this process that answers by what the token says.
struct StubBroker: TokenBrokerService.Handlers {
  static let token = "ya29.a-token-that-nobody-should-see"

  func exchangeToken(_ request: ExchangeTokenRequest, _ call: CallContext) async throws -> ExchangeTokenResponse {
    try judge(call)
    return ExchangeTokenResponse(accessToken: Self.token, tokenType: "Bearer", expiresIn: 3599)
  }

  func whoAmI(_ request: WhoAmIRequest, _ call: CallContext) async throws -> WhoAmIResponse {
    try judge(call)
    if call.metadata["authorization"] == "Bearer slow" { try await EventLoop.current?.sleep(for: .seconds(30)) }
    return WhoAmIResponse(
      sub: call.metadata["authorization"] ?? "", email: "ana@example.org", name: call.metadata["x-note"], iss: "issuer",
      aud: "audience", exp: 1_767_326_645)
  }

  private func judge(_ call: CallContext) throws {
    switch call.metadata["authorization"] {
    case nil: throw RPCError(.unauthenticated, "missing or invalid Authorization header")
    case "Bearer eager":
      throw RPCError(
        .resourceExhausted, "rate limit (user)",
        details: [
          .errorInfo(reason: "RATE_LIMITED_USER", domain: "parley.broker.v1", metadata: ["limit": "30"]), .retryInfo(.seconds(2)),
        ],
        metadata: ["retry-after": "2"])
    default: break
    }
  }

  /// Runs `body` with the address of a server of it.
  static func serve(_ body: (String) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "stub", blockingThreads: 1)
    defer { group.shutDown() }
    let server = RPCServer(on: group, services: [TokenBrokerService.routes(StubBroker())])
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body("\(address)")) } catch { outcome = .failure(error) }
    await server.drain(within: .seconds(1))
    try outcome.get()
  }
}

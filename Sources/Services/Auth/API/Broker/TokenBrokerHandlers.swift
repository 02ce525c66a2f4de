internal import AuthDomain
internal import ParleyAPI
internal import RPC
internal import ServiceKit
internal import Telemetry

/// The broker over gRPC.
struct TokenBrokerHandlers: TokenBrokerService.Handlers {
  let broker: BrokerPipeline
  let proxies: TrustedProxies

  func exchangeToken(
    _ request: ExchangeTokenRequest, _ call: CallContext
  ) async throws -> ExchangeTokenResponse {
    let (token, secondsLeft) = try await answer { () async throws(Refusal) in
      try await broker.exchange(self.request(call, capability: request.capability))
    }
    return .init(accessToken: token.value, tokenType: token.type, expiresIn: Int32(clamping: secondsLeft))
  }

  func whoAmI(_ request: WhoAmIRequest, _ call: CallContext) async throws -> WhoAmIResponse {
    let caller = try await answer { () async throws(Refusal) in try await broker.whoAmI(self.request(call)) }
    return .init(
      sub: caller.subject, email: caller.email, emailVerified: caller.emailIsVerified, name: caller.name, picture: caller.picture,
      hd: caller.hostedDomain, iss: caller.issuer, aud: caller.audience, exp: caller.expiry)
  }

  private func request(_ call: CallContext, capability: String? = nil) -> BrokerRequest {
    let client = proxies.client(of: call.call)
    return BrokerRequest(
      authorization: call.metadata.values(of: "authorization"), address: client.text, addressKey: client.limitKey,
      capability: capability, requestID: RequestID.of(call.call),
      note: { notes in
        var notes = notes
        if client.text != call.call.peer.address { notes.add("client", client.text) }
        call[CallNotes.Key.self] = notes
      })
  }

  private func answer<Value>(_ body: () async throws(Refusal) -> Value) async throws(RPCError) -> Value {
    do { return try await body() } catch { throw error.rpcError }
  }
}

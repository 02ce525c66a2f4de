import JSON
import RPC
import RPCServer

/// The metadata server of a machine that runs as the broker's account.
struct MetadataEndpoint {
  let tokens: MintedTokens
  let lifetime: Int

  private static let mark = [(name: "metadata-flavor", value: "Google")]

  /// A token of the machine's account.
  func token(_ request: HTTPServerRequest, now: Int64) -> HTTPServerResponse {
    marked(request) {
      let scopes = request.queryValue("scopes").map { $0.split(separator: ",").map(String.init) } ?? [MintedTokens.cloudPlatform]
      let token = tokens.mint(.broker, scopes: scopes, end: now + Int64(lifetime))
      let body: JSONValue = [
        "access_token": .string(token), "expires_in": .number(JSONNumber(lifetime)), "token_type": "Bearer",
      ]
      return .json(200, body.encoded(), headers: Self.mark)
    }
  }

  /// The machine's account.
  func email(_ request: HTTPServerRequest) -> HTTPServerResponse {
    marked(request) { .text(200, CloudAccount.broker.email, headers: Self.mark) }
  }

  /// Without its mark a request may be one that somebody else was made to send.
  private func marked(_ request: HTTPServerRequest, _ answer: () -> HTTPServerResponse) -> HTTPServerResponse {
    guard request.header("metadata-flavor") == "Google" else {
      return .text(403, "Missing required header: Metadata-Flavor\n", headers: Self.mark)
    }
    return answer()
  }
}

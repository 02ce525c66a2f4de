import JSON

/// One of Google's services, asked with a token of the broker: a token per request, a new one when Google refuses it.
struct GoogleService: Sendable {
  /// As the log calls it.
  let name: String
  let baseURL: String
  let capability: String
  let tokens: any CloudTokenProviding
  let http: any HTTPExchanging
  let timeout: Duration
  let log: DebugLog

  /// Posts JSON and reads JSON.
  ///
  /// - Throws: ``GoogleError``; what keeps a token from being had; `CancellationError`.
  func post(_ path: String, _ body: JSONValue) async throws -> JSONValue {
    let bytes = body.encoded()
    var response = try await send(path, bytes)
    if response.response.status == 401 {
      await tokens.discard(response.token)
      response = try await send(path, bytes)
      // Refused twice, it serves nobody; the next request starts with a new one.
      if response.response.status == 401 { await tokens.discard(response.token) }
    }
    guard (200..<300).contains(response.response.status) else { throw GoogleError(response.response) }
    do { return try JSONParser.parse(response.response.body) } catch {
      throw GoogleError(.noResponse, "\(name) answered with something that is no JSON", cause: error)
    }
  }

  private func send(_ path: String, _ body: [UInt8]) async throws -> (response: IncomingResponse, token: CloudToken) {
    let token = try await tokens.accessToken(capability: capability)
    log(name, "using access token of the token broker")
    let request = OutgoingRequest(
      "POST", baseURL + path,
      headers: ["authorization": token.authorization, "content-type": "application/json", "accept": "application/json"],
      body: body,
      timeout: timeout)
    do { return (try await http.exchange(request), token) } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw GoogleError(.noResponse, "\(name) could not be reached", cause: error)
    }
  }
}

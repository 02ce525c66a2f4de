import JSON
import Outbound
import ParleyAPI
import RPC

/// A good ID token, on every road that leads to the service.
enum CallSteps {
  static let all = [
    DemoStep("edge HTTP/1.1") { stage in
      try await token(stage, at: stage.places.edgeHTTP, version: .http1, person: "http1")
    },
    DemoStep("edge HTTP/2") { stage in
      try await token(stage, at: stage.places.edgeHTTPS, version: .http2, person: "http2")
    },
    DemoStep("gRPC h2c") { stage in
      let token = try await stage.idToken(of: "h2c")
      return seen(try await stage.broker.exchangeToken(options: stage.options(token)), at: stage.places.copies[0])
    },
    DemoStep("gRPC TLS") { stage in
      let token = try await stage.idToken(of: "tls")
      let broker = TokenBrokerService.Client(stage.encrypted)
      return seen(try await broker.exchangeToken(options: stage.options(token)), at: stage.places.grpcTLS)
    },
    DemoStep("whoami") { stage in
      let token = try await stage.idToken(of: "ana")
      let claims = try await stage.broker.whoAmI(options: stage.options(token))
      guard claims.sub == stage.subject("ana"), claims.email == "ana@example.org", claims.aud == stage.places.audience else {
        throw StepFailure(expected: "the claims of ana's token", came: "sub \(claims.sub), email \(claims.email ?? "none")")
      }
      return "sub \(claims.sub), email \(claims.email ?? "")"
    },
  ]

  /// `GET /token` at the edge answers the three fields that the apps know, and may not be stored.
  private static func token(
    _ stage: DemoStage, at edge: String, version: HTTPResponse.Version, person: String
  ) async throws -> String {
    let response = try await stage.get("\(edge)/token", bearer: try await stage.idToken(of: person))
    guard response.status == 200, response.version == version else {
      throw StepFailure(
        expected: "200 over \(version)", came: "\(response.status) over \(response.version): \(response.text ?? "")")
    }
    let body = try JSONParser.parse(response.body)
    guard let token = body["access_token"]?.string, let life = body["expires_in"]?.int64, body["token_type"]?.string == "Bearer",
      response.headers["cache-control"] == "no-store"
    else { throw StepFailure(expected: "a bearer token that may not be stored", came: "something else with status 200") }
    return "200, token \(Mask.token(token)) for \(life) s"
  }

  private static func seen(_ response: ExchangeTokenResponse, at place: String) -> String {
    "OK from \(place), token \(Mask.token(response.accessToken)) for \(response.expiresIn) s"
  }
}

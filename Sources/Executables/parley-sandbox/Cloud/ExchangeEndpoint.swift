import JOSE
import JSON
import RPCServer

/// The security token service (RFC 8693): a token of another provider in, one of the federated identity out.
///
/// The other provider is the sandbox's own: its ID tokens are taken, if they are for the pool that the request names.
struct ExchangeEndpoint {
  private struct Refusal: Error {
    let error: String
    let description: String
  }

  static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"
  static let accessToken = "urn:ietf:params:oauth:token-type:access_token"
  static let subjectTypes = ["urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token"]

  let tokens: MintedTokens
  /// What ID tokens are signed with.
  let keys: JWKSet
  let lifetime: Int

  func answer(_ request: HTTPServerRequest, now: Int64) -> HTTPServerResponse {
    do throws(Refusal) {
      let (account, scopes) = try judge(request, now: now)
      let token = tokens.mint(account, scopes: scopes, end: now + Int64(lifetime))
      return .json([
        "access_token": .string(token), "issued_token_type": .string(Self.accessToken), "token_type": "Bearer",
        "expires_in": .number(JSONNumber(lifetime)),
      ])
    } catch {
      return .json(["error": .string(error.error), "error_description": .string(error.description)], status: 400)
    }
  }

  private func judge(
    _ request: HTTPServerRequest, now: Int64
  ) throws(Refusal) -> (account: CloudAccount, scopes: [String]) {
    func invalid(_ description: String) -> Refusal { Refusal(error: "invalid_request", description: description) }
    guard let form = FormBody(request.body) else { throw invalid("The body is not a form.") }
    guard form["grant_type"] == Self.grantType else {
      throw Refusal(error: "unsupported_grant_type", description: "Invalid grant_type.")
    }
    guard form["requested_token_type"] == Self.accessToken, Self.subjectTypes.contains(form["subject_token_type"] ?? "") else {
      throw invalid("Unsupported token type.")
    }
    guard let audience = form["audience"], audience.hasPrefix("//iam.googleapis.com/projects/") else {
      throw invalid("Invalid value for audience.")
    }
    let scopes = (form["scope"] ?? "").split(separator: " ").map(String.init)
    guard !scopes.isEmpty else { throw Refusal(error: "invalid_scope", description: "Empty or missing scope not allowed.") }
    let policy = VerificationPolicy(
      allowedAlgorithms: [.rs256], issuers: [IDTokenRequest.issuer], audiences: [audience, "https:" + audience])
    do throws(TokenError) {
      let claims = try TokenVerifier.verify(Array((form["subject_token"] ?? "").utf8), keys: keys, policy: policy, now: now)
      return (.federated(claims.subject ?? ""), scopes)
    } catch {
      throw Refusal(error: "invalid_grant", description: "The subject token is not accepted: \(error).")
    }
  }
}

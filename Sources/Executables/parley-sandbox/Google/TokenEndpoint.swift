import JOSE
import JSON
import RPCServer

/// Google's token endpoint for service accounts (RFC 7523): judges a signed assertion and hands out an access token.
struct TokenEndpoint {
  /// Why an assertion gets no token, in the form of RFC 6749, section 5.2.
  struct Refusal: Error {
    let error: String
    let description: String
    var status = 400

    static func grant(_ description: String) -> Refusal { Refusal(error: "invalid_grant", description: description) }
  }

  static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// The longest that an assertion may be valid, in seconds.
  static let maximumAssertionLife: Int64 = 3600
  /// How far clocks may differ, in seconds.
  static let clockLeeway: Int64 = 60

  /// The account that may ask.
  let account: ServiceAccount
  /// The addresses of this endpoint; an assertion names one of them as its audience.
  let addresses: [String]
  /// The `expires_in` of what is handed out, in seconds.
  let lifetime: Int

  /// Answers a request at a time in seconds since 1970.
  func answer(_ request: HTTPServerRequest, now: Int64, minting tokens: MintedTokens) -> HTTPServerResponse {
    let scopes: [String]
    do throws(Refusal) {
      scopes = try judge(request, now: now)
    } catch {
      return .json(
        ["error": .string(error.error), "error_description": .string(error.description)], status: error.status)
    }
    let token = tokens.mint(.broker, scopes: scopes, end: now + Int64(lifetime))
    return .json(["access_token": .string(token), "expires_in": .number(JSONNumber(lifetime)), "token_type": "Bearer"])
  }

  /// The scopes that are asked for.
  private func judge(_ request: HTTPServerRequest, now: Int64) throws(Refusal) -> [String] {
    let type = request.header("content-type")?.split(separator: ";").first.map(String.init)
    guard type?.lowercased() == "application/x-www-form-urlencoded", let form = FormBody(request.body) else {
      throw Refusal(error: "invalid_request", description: "The body is not a form.")
    }
    guard form["grant_type"] == Self.grantType else {
      throw Refusal(error: "unsupported_grant_type", description: "Invalid grant_type.")
    }
    guard let assertion = form["assertion"], !assertion.isEmpty else {
      throw Refusal(error: "invalid_request", description: "Missing required parameter: assertion")
    }
    return try judge(claims: claims(of: assertion), now: now)
  }

  private func claims(of assertion: String) throws(Refusal) -> JSONObject {
    let keys = JWKSet([account.key.publicKey])
    let payload: [UInt8]
    do { payload = try TokenVerifier.verifySignature(Array(assertion.utf8), keys: keys, allowedAlgorithms: [.rs256]) } catch {
      throw error.code == .signatureInvalid ? .grant("Invalid JWT Signature.") : .grant("Invalid JWT: \(error).")
    }
    guard let claims = try? JSONParser.parse(payload).object else { throw .grant("Invalid JWT: the claims are not an object.") }
    return claims
  }

  private func judge(claims: JSONObject, now: Int64) throws(Refusal) -> [String] {
    guard claims["iss"]?.string == account.email else { throw .grant("Invalid grant: account not found") }
    guard let audience = claims["aud"]?.string, addresses.contains(audience) else {
      throw .grant("Invalid JWT: the audience is not this endpoint.")
    }
    guard let issuedAt = claims["iat"]?.int64, let expiry = claims["exp"]?.int64, expiry > issuedAt,
      expiry.subtractingReportingOverflow(issuedAt).partialValue <= Self.maximumAssertionLife,
      issuedAt <= now + Self.clockLeeway, expiry > now - Self.clockLeeway
    else {
      throw .grant("Invalid JWT: iat and exp must be at most an hour apart and around the present time.")
    }
    let scopes = (claims["scope"]?.string ?? "").split(separator: " ").map(String.init)
    guard !scopes.isEmpty else {
      throw Refusal(error: "invalid_scope", description: "Empty or missing scope not allowed.")
    }
    return scopes
  }
}

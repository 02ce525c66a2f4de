import JOSE
import JSON

/// A token that somebody wishes for: a provider's own, or one with a defect.
struct WishedToken {
  /// How it is signed.
  enum Signature: String, CaseIterable {
    /// As the provider does.
    case rs256 = "RS256"
    /// Not at all.
    case none
    /// With the public key as if it were a shared secret, which takes in verifiers that let the token choose the algorithm.
    case publicKeyAsSecret = "HS256-public-key"
  }

  /// The fields of a control request that every token has.
  static let names: Set<String> = ["aud", "sub", "nonce", "expiresIn", "issuedAgo", "iss", "alg", "kid", "claims"]

  /// What it says, without the times.
  var claims: JSONObject = [:]
  /// What it says instead, at the end; null takes a claim away.
  private let overrides: JSONObject
  private let signature: Signature
  private let keyID: String?
  /// Seconds from now to its end; negative when it has expired.
  private let expiresIn: Int64
  /// Seconds since it was issued.
  private let issuedAgo: Int64?
  /// How long the provider's own tokens live, in seconds.
  private let lifetime: Int64

  /// Reads a wish.
  ///
  /// - Parameters:
  ///   - issuer: Whose token it is if the wish does not say.
  ///   - lifetime: How long such tokens live if the wish does not say, in seconds.
  init(_ request: ControlRequest, issuer: String, lifetime: Int64 = 3600) throws(ControlRequest.Fault) {
    claims["iss"] = .string(try request.text("iss") ?? issuer)
    guard let audience = request.body["aud"] else { throw .init(message: "'aud' is missing: for whom is the token?") }
    claims["aud"] = audience
    guard let subject = try request.text("sub") else { throw .init(message: "'sub' is missing: whose token is it?") }
    claims["sub"] = .string(subject)
    if let nonce = try request.text("nonce") { claims["nonce"] = .string(nonce) }
    if let alg = try request.text("alg") {
      guard let signature = Signature(rawValue: alg) else {
        throw .init(message: "'alg' is none of \(Signature.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      self.signature = signature
    } else {
      signature = .rs256
    }
    keyID = try request.text("kid")
    let years = -315_360_000...315_360_000
    expiresIn = try request.integer("expiresIn", in: years).map(Int64.init) ?? lifetime
    issuedAgo = try request.integer("issuedAgo", in: years).map(Int64.init)
    self.lifetime = lifetime
    if let overrides = request.body["claims"] {
      guard let object = overrides.object else { throw .init(message: "'claims' is not an object") }
      self.overrides = object
    } else {
      overrides = [:]
    }
  }

  /// The token, issued at a time in seconds since 1970.
  func token(signedBy key: SigningKey, now: Int64) throws(KeyError) -> String {
    var claims = claims
    let expiry = now + expiresIn
    // One that has expired was issued a lifetime before it did, as a real one would have been.
    let issuedAt = issuedAgo.map { now - $0 } ?? (expiresIn > 0 ? now : expiry - lifetime)
    claims["iat"] = .number(JSONNumber(issuedAt))
    claims["exp"] = .number(JSONNumber(expiry))
    for override in overrides { claims[override.name] = override.value.isNull ? nil : override.value }
    let kid = keyID ?? key.keyID
    let payload = Base64URL.encode(JSONValue.object(claims).encoded())
    switch signature {
    case .rs256:
      let input = header("RS256", kid) + "." + payload
      return input + "." + Base64URL.encode(try key.signature(of: Array(input.utf8)))
    case .none:
      return header("none", kid) + "." + payload + "."
    case .publicKeyAsSecret:
      let input = header("HS256", kid) + "." + payload
      let secret = PublicKeyPEM.encode(key.publicKey)
      return input + "." + Base64URL.encode(HMACSHA256.authenticationCode(for: Array(input.utf8), key: Array(secret.utf8)))
    }
  }

  private func header(_ algorithm: String, _ keyID: String) -> String {
    Base64URL.encode((["alg": .string(algorithm), "kid": .string(keyID), "typ": "JWT"] as JSONValue).encoded())
  }
}

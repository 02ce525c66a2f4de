import JOSE
import JSON

/// The key of the one developer team that the stand-in knows; made when the sandbox starts.
struct DeveloperKey: Sendable {
  /// The longest that a client secret may be valid, in seconds: six months.
  static let maximumSecretLife: Int64 = 15_777_000

  let teamID = "PARLEYTEAM"
  let key: SigningKey
  /// The text of the `.p8` file.
  let pem: String

  init() throws {
    key = try .generate(.es256, keyID: "PARLEYKEY1")
    pem = try key.privatePEM()
  }

  /// What a service is set up with.
  var json: JSONValue { ["teamId": .string(teamID), "keyId": .string(key.keyID), "privateKey": .string(pem)] }

  /// Whether the text is a client secret of this client at a time in seconds since 1970.
  func isSecret(_ text: String, of clientID: String, now: Int64) -> Bool {
    let keys = JWKSet([key.publicKey])
    guard let payload = try? TokenVerifier.verifySignature(Array(text.utf8), keys: keys, allowedAlgorithms: [.es256]),
      let claims = try? JSONParser.parse(payload).object, let issuedAt = claims["iat"]?.int64, let expiry = claims["exp"]?.int64
    else { return false }
    return claims["iss"]?.string == teamID && claims["sub"]?.string == clientID
      && claims["aud"]?.string == IdentityTokenRequest.issuer && issuedAt <= now + 60 && expiry > now
      && expiry - issuedAt <= Self.maximumSecretLife
  }
}

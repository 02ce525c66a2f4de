import JOSE
import JSON

/// Keys and tokens that the tests share. Keys are made once: an RSA key takes about 100 ms.
enum TestTokens {
  static let now: Int64 = 1_800_000_000
  static let issuer = "https://accounts.google.com"
  static let audience = "web-client"

  static let rsa = makeKey(.rs256, "rsa-1")
  static let otherRSA = makeKey(.rs256, "rsa-1")
  static let p256 = makeKey(.es256, "ec-1")
  static let otherP256 = makeKey(.es256, "ec-1")
  static let keys = JWKSet([rsa.publicKey, p256.publicKey])

  static func makeKey(_ algorithm: SignatureAlgorithm, _ keyID: String) -> SigningKey {
    do { return try SigningKey.generate(algorithm, keyID: keyID) } catch { preconditionFailure("no test key: \(error)") }
  }

  static let policy = VerificationPolicy(
    allowedAlgorithms: [.rs256, .es256], issuers: ["https://accounts.google.com", "accounts.google.com"],
    audiences: ["web-client", "ios-client", "Kelvin"], notBeforeLeeway: .seconds(300))

  static var claims: JSONObject {
    [
      "iss": .string(issuer), "aud": .string(audience), "sub": "1234567890", "exp": .number(JSONNumber(now + 3600)),
      "iat": .number(JSONNumber(now)), "email": "ann@example.com",
    ]
  }

  /// The usual claims with some of them replaced, or removed by nil.
  static func claims(_ changes: [(String, JSONValue?)]) -> JSONObject {
    var claims = claims
    for (name, value) in changes { claims[name] = value }
    return claims
  }

  /// A token over exactly these texts, honestly signed whatever they say.
  static func sign(header: String, payload: String, key: SigningKey = p256) -> String {
    let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8))
    return input + "." + Base64URL.encode((try? key.signature(of: Array(input.utf8))) ?? [])
  }

  static func token(_ claims: JSONObject = claims, header: JSONObject = [:], key: SigningKey = p256) -> String {
    (try? key.sign(header: header, claims: claims)) ?? ""
  }

  /// The verdict's word: `accepted`, or the reason of the refusal.
  static func verdict(
    _ token: some Sequence<UInt8>, keys: JWKSet = keys, policy: VerificationPolicy = policy, now: Int64 = now
  ) -> String {
    do throws(TokenError) {
      _ = try TokenVerifier.verify(Array(token), keys: keys, policy: policy, now: now)
      return "accepted"
    } catch {
      return error.code.description
    }
  }
}

import JOSE
import JSON

/// The token reader: the first byte chooses between raw tokens, tokens that are honestly signed whatever they say, key sets, private
/// keys and base64.
final class TokenTarget: FuzzTarget {
  private let rsa: SigningKey
  private let p256: SigningKey
  private let keys: JWKSet
  private let policy = VerificationPolicy(
    allowedAlgorithms: [.rs256, .es256], issuers: ["https://accounts.google.com", "accounts.google.com"],
    audiences: ["web-client", "ios-client"], notBeforeLeeway: .seconds(300), maximumAge: .seconds(86_400))
  private let now: Int64 = 1_800_000_000

  init() {
    rsa = expect("the RSA key is not read") { try SigningKey(pem: TokenKeys.rsa, keyID: "rsa-1") }
    p256 = expect("the EC key is not read") { try SigningKey(pem: TokenKeys.p256, keyID: "ec-1") }
    keys = JWKSet([rsa.publicKey, p256.publicKey])
  }

  func run(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let rest = input.from(1)
    switch choice % 6 {
    case 0: raw(rest.array)
    case 1: signed(rest, by: p256)
    case 2: signed(rest, by: rsa)
    case 3: keySet(rest.array)
    case 4: privateKey(String(decoding: rest, as: UTF8.self))
    default: base64(rest.array)
    }
  }

  /// A token that nobody here has signed is never accepted, unless it is one of the corpus as it was made.
  private func raw(_ token: [UInt8]) {
    guard let unverified = try? UnverifiedToken(parsing: token, policy: policy, now: now) else { return }
    require(policy.allowedAlgorithms.contains(unverified.algorithm), "an algorithm that is not allowed")
    guard let key = try? unverified.key(in: keys) else { return }
    guard let verified = try? unverified.verified(by: key) else { return }
    check(verified)
    // Its one spelling: whoever changes a byte changes the token.
    let text = String(decoding: token, as: UTF8.self)
    require(text.utf8.filter { $0 == UInt8(ascii: ".") }.count == 2, "an accepted token has not three parts")
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      require(
        Base64URL.decode(String(part)).map { Base64URL.encode($0) } == String(part), "an accepted token is not canonical")
    }
  }

  /// Header and payload before and behind a zero byte, signed as they are: every check but that of the signature.
  private func signed(_ input: UnsafeRawBufferPointer, by key: SigningKey) {
    let (header, payload) = input.split(at: 0)
    let message = Base64URL.encode(header.array) + "." + Base64URL.encode(payload.array)
    let signature = expect("the key does not sign") { try key.signature(of: Array(message.utf8)) }
    let token = Array((message + "." + Base64URL.encode(signature)).utf8)
    if let compact = try? CompactJWS(parsing: token, allowedAlgorithms: policy.allowedAlgorithms),
      compact.keyID == key.keyID && compact.algorithm == key.algorithm
    {
      let signed = expect("an honest signature is refused") { try compact.payload(verifiedBy: key.publicKey) }
      require(signed == payload.array, "the payload is not the one that was signed")
    }
    guard let verified = try? TokenVerifier.verify(token, keys: keys, policy: policy, now: now) else { return }
    require(verified.keyID == key.keyID && verified.algorithm == key.algorithm, "verified by another key")
    check(verified)
    // One bit of the signature changed: refused.
    var forged = signature
    forged[forged.count / 2] ^= 1
    let forgery = Array((message + "." + Base64URL.encode(forged)).utf8)
    require((try? TokenVerifier.verify(forgery, keys: keys, policy: policy, now: now)) == nil, "a forged signature is accepted")
  }

  private func check(_ token: VerifiedToken) {
    require(token.claims["iss"]?.string.map(policy.issuers.contains) == true, "an issuer that is not allowed")
    require(token.header["alg"]?.string == token.algorithm.rawValue, "an algorithm that is not the header's")
    let expiry = token.claims["exp"]?.number
    require(expiry != nil, "a token without an end")
    require(token.claims["sub"]?.string?.isEmpty == false, "a token without a subject")
    if let seconds = expiry?.int64 { require(seconds + 60 >= now, "a token that expired \(now - seconds) s ago") }
  }

  private func keySet(_ bytes: [UInt8]) {
    guard let set = try? JWKSet(parsing: bytes) else { return }
    for key in set.keys {
      let again = expect("a key that was read is not read again") { try VerificationKey(jwk: .object(key.jwk)) }
      require(again.thumbprint == key.thumbprint && again.algorithm == key.algorithm, "a key changes on its way through JSON")
      require(set[key.keyID]?.thumbprint == key.thumbprint, "a key is not found by its name")
      require(!key.isValidSignature([UInt8](repeating: 0, count: 64), of: [1, 2, 3]), "zeros are a signature")
    }
    for rejection in set.rejections { _ = rejection.description }
  }

  private func privateKey(_ pem: String) {
    guard let key = try? SigningKey(pem: pem) else { return }
    guard let signature = try? key.signature(of: [1, 2, 3]) else { return }
    guard key.publicKey.isValidSignature(signature, of: [1, 2, 3]) else { return }
    require(!key.publicKey.isValidSignature(signature, of: [1, 2, 4]), "a signature fits another message")
  }

  private func base64(_ text: [UInt8]) {
    if let bytes = Base64URL.decode(text) {
      require(Array(Base64URL.encode(bytes).utf8) == text, "base64url that was read has another spelling")
    }
    if let bytes = Base64.decode(String(decoding: text, as: UTF8.self)) {
      require(Base64.encode(bytes) == String(decoding: text, as: UTF8.self), "base64 that was read has another spelling")
    }
    require(Base64URL.decode(Base64URL.encode(text)) == text && Base64.decode(Base64.encode(text)) == text, "base64 loses bytes")
  }
}

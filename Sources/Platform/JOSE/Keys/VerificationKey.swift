internal import COpenSSL
public import JSON

/// A public key that checks signatures of exactly one algorithm.
///
/// The algorithm follows from the kind of key when its source names none; no token can change it.
public struct VerificationKey: Sendable {
  enum Numbers: Sendable {
    case rsa(modulus: [UInt8], exponent: [UInt8])
    case p256(x: [UInt8], y: [UInt8])
  }

  /// The name tokens refer to it by: 1 to 256 printable ASCII characters.
  public let keyID: String
  /// The only algorithm it may be used with.
  public let algorithm: SignatureAlgorithm

  let key: EVPKey
  let numbers: Numbers

  init(keyID: String, algorithm: SignatureAlgorithm, key: EVPKey, numbers: Numbers) {
    self.keyID = keyID
    self.algorithm = algorithm
    self.key = key
    self.numbers = numbers
  }

  /// The key as a JSON Web Key (RFC 7517) with `kty`, `use`, `alg`, `kid` and its numbers.
  public var jwk: JSONObject {
    let head: [(String, JSONValue)] = [("use", "sig"), ("alg", .string(algorithm.rawValue)), ("kid", .string(keyID))]
    return JSONObject(head + thumbprintMembers)
  }

  /// The key's thumbprint (RFC 7638, SHA-256) in base64url: a name that follows from the key alone.
  public var thumbprint: String { Base64URL.encode(SHA256.digest(JSONValue.object(JSONObject(thumbprintMembers)).encoded())) }

  /// The members that make up the key, in the order that RFC 7638 prescribes.
  private var thumbprintMembers: [(String, JSONValue)] {
    switch numbers {
    case .rsa(let modulus, let exponent):
      [("e", .string(Base64URL.encode(exponent))), ("kty", "RSA"), ("n", .string(Base64URL.encode(modulus)))]
    case .p256(let x, let y):
      [
        ("crv", "P-256"), ("kty", "EC"), ("x", .string(Base64URL.encode(x))), ("y", .string(Base64URL.encode(y))),
      ]
    }
  }

  /// Whether this is the signature of the message, in the form that JWS gives it (RFC 7518 sections 3.3 and 3.4).
  public func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    switch numbers {
    case .rsa(let modulus, _): signature.count == modulus.count && key.isValidSignature(signature, of: message)
    case .p256:
      signature.count == 64 && key.isValidSignature(DER.ecdsaSignature(fromConcatenation: signature), of: message)
    }
  }
}

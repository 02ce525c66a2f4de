public import JSON

extension VerificationKey {
  /// The bits an RSA modulus may have. Below, it can be factored; above, each check costs too much.
  static let modulusBits = 2048...8192
  /// Members that only a private key has (RFC 7518 sections 6.2.2, 6.3.2, 6.4).
  private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

  /// Reads one JSON Web Key (RFC 7517) strictly.
  ///
  /// - Throws: ``JWKSet/Reason``, the first thing wrong with it.
  public init(jwk: JSONValue) throws(JWKSet.Reason) {
    guard let object = jwk.object else { throw .malformed }
    guard let type = object["kty"]?.string else { throw .malformed }
    let algorithm: SignatureAlgorithm
    switch type {
    case "RSA": algorithm = .rs256
    case "EC": algorithm = .es256
    case "oct": throw .symmetric
    default: throw .typeNotSupported
    }
    guard !Self.privateMembers.contains(where: { object[$0] != nil }) else { throw .privateKey }
    try Self.checkUse(object)
    if let named = object["alg"] {
      guard let named = named.string else { throw .malformed }
      guard named.hasSameBytes(as: algorithm.rawValue) else { throw .algorithmNotSupported }
    }
    guard let keyID = object["kid"] else { throw .keyIDMissing }
    guard let keyID = keyID.string, KeyID.isValid(keyID) else { throw .keyIDInvalid }
    let numbers = try algorithm == .rs256 ? Self.rsaNumbers(object) : Self.p256Numbers(object)
    try self.init(keyID: keyID, algorithm: algorithm, numbers: numbers)
  }

  /// Builds the OpenSSL key from numbers that were judged.
  init(keyID: String, algorithm: SignatureAlgorithm, numbers: Numbers) throws(JWKSet.Reason) {
    let key: EVPKey?
    switch numbers {
    case .rsa(let modulus, let exponent): key = EVPKey(publicKeyDER: DER.rsaPublicKey(modulus: modulus, exponent: exponent))
    case .p256(let x, let y):
      key = EVPKey(publicKeyDER: DER.p256PublicKey(x: x, y: y))
      guard key?.passesPublicCheck == true else { throw .keyRefused }
    }
    guard let key else { throw .keyRefused }
    self.init(keyID: keyID, algorithm: algorithm, key: key, numbers: numbers)
  }

  private static func checkUse(_ object: JSONObject) throws(JWKSet.Reason) {
    if let use = object["use"] {
      guard let use = use.string else { throw .malformed }
      guard use.hasSameBytes(as: "sig") else { throw .useNotAllowed }
    }
    if let operations = object["key_ops"] {
      guard let operations = operations.array, operations.allSatisfy({ $0.string != nil }),
        Set(operations).count == operations.count
      else { throw .malformed }
      guard operations.contains("verify") else { throw .useNotAllowed }
    }
  }

  private static func rsaNumbers(_ object: JSONObject) throws(JWKSet.Reason) -> Numbers {
    let modulus = try number("n", of: object)
    let exponent = try number("e", of: object)
    // Base64urlUInt is the shortest form (RFC 7518 section 2).
    guard let first = modulus.first, first != 0, let exponentFirst = exponent.first, exponentFirst != 0 else {
      throw .numberInvalid
    }
    guard modulusBits.contains(modulus.count * 8 - first.leadingZeroBitCount) else { throw .modulusSize }
    guard modulus.last! & 1 == 1 else { throw .modulusEven }
    guard exponent.count <= 8, exponent.last! & 1 == 1, exponent != [1] else { throw .exponentInvalid }
    return .rsa(modulus: modulus, exponent: exponent)
  }

  private static func p256Numbers(_ object: JSONObject) throws(JWKSet.Reason) -> Numbers {
    guard let curve = object["crv"]?.string else { throw .malformed }
    guard curve.hasSameBytes(as: "P-256") else { throw .curveNotSupported }
    let x = try number("x", of: object)
    let y = try number("y", of: object)
    guard x.count == 32, y.count == 32 else { throw .numberInvalid }
    return .p256(x: x, y: y)
  }

  private static func number(_ name: String, of object: JSONObject) throws(JWKSet.Reason) -> [UInt8] {
    guard let text = object[name]?.string, let bytes = Base64URL.decode(text) else { throw .numberInvalid }
    return bytes
  }
}

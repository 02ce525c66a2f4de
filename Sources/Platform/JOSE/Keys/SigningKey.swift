public import JSON

/// A private key that signs tokens, RS256 or ES256 by its kind.
///
/// Neither description nor mirror shows the key; ``privatePEM()`` is the only way out.
public struct SigningKey: Sendable, CustomStringConvertible, CustomReflectable {
  /// The public half, which checks what this key signs, under the same name.
  public let publicKey: VerificationKey

  let key: EVPKey

  /// Takes over a key that can sign.
  ///
  /// - Parameter keyID: The name for the header's `kid`; nil names the key by its thumbprint (RFC 7638).
  init(key: EVPKey, keyID: String?) throws(KeyError) {
    let algorithm: SignatureAlgorithm
    let numbers: VerificationKey.Numbers
    if key.isKind("RSA") {
      guard VerificationKey.modulusBits.contains(key.bitCount) else { throw KeyError(code: .sizeNotAllowed) }
      guard let modulus = key.number("n"), let exponent = key.number("e") else { throw KeyError(code: .operationFailed) }
      (algorithm, numbers) = (.rs256, .rsa(modulus: modulus, exponent: exponent))
    } else if key.isKind("EC") {
      guard key.curveName == "prime256v1" else { throw KeyError(code: .curveNotSupported) }
      guard let x = key.number("qx", byteCount: 32), let y = key.number("qy", byteCount: 32) else {
        throw KeyError(code: .operationFailed)
      }
      (algorithm, numbers) = (.es256, .p256(x: x, y: y))
    } else {
      throw KeyError(code: .typeNotSupported)
    }
    func publicKey(_ name: String) throws(KeyError) -> VerificationKey {
      do { return try VerificationKey(keyID: name, algorithm: algorithm, numbers: numbers) } catch {
        throw KeyError(code: .operationFailed)
      }
    }
    guard keyID.map(KeyID.isValid) ?? true else { throw KeyError(code: .keyIDInvalid) }
    if let keyID {
      self.publicKey = try publicKey(keyID)
    } else {
      self.publicKey = try publicKey(publicKey("thumbprint").thumbprint)
    }
    self.key = key
  }

  /// The name that goes into the header's `kid`.
  public var keyID: String { publicKey.keyID }

  /// The algorithm that goes into the header's `alg`.
  public var algorithm: SignatureAlgorithm { publicKey.algorithm }

  /// A token in compact form, signed.
  ///
  /// - Parameters:
  ///   - header: Further header members. `alg` and `kid` are always the key's; `typ` is `JWT` unless given.
  ///   - claims: The claims, written as they are.
  /// - Throws: ``KeyError`` with ``KeyError/Code/operationFailed``.
  public func sign(header: JSONObject = [:], claims: JSONObject) throws(KeyError) -> String {
    try sign(header: header, payload: JSONValue.object(claims).encoded())
  }

  /// A signed message in compact form, whatever its payload.
  ///
  /// - Throws: ``KeyError`` with ``KeyError/Code/operationFailed``.
  public func sign(header: JSONObject = [:], payload: [UInt8]) throws(KeyError) -> String {
    var members: JSONObject = ["alg": .string(algorithm.rawValue), "typ": "JWT", "kid": .string(keyID)]
    for member in header where member.name != "alg" && member.name != "kid" { members[member.name] = member.value }
    let input = Base64URL.encode(JSONValue.object(members).encoded()) + "." + Base64URL.encode(payload)
    return input + "." + Base64URL.encode(try signature(of: Array(input.utf8)))
  }

  /// The signature of the message, in the form that JWS gives it.
  ///
  /// - Throws: ``KeyError`` with ``KeyError/Code/operationFailed``.
  public func signature(of message: [UInt8]) throws(KeyError) -> [UInt8] {
    guard let signature = key.signature(of: message) else { throw KeyError(code: .operationFailed) }
    guard algorithm == .es256 else { return signature }
    guard let concatenation = DER.ecdsaConcatenation(fromSignature: signature) else { throw KeyError(code: .operationFailed) }
    return concatenation
  }

  /// Name and algorithm.
  public var description: String { "\(algorithm.rawValue) key \(keyID)" }

  /// Name and algorithm.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

public import JSON

/// A signed message in compact form (RFC 7515) whose form and header were judged, and whose signature was not.
///
/// It gives out its payload only for a key that signed it. Used by itself it checks signatures and nothing else; for tokens
/// with claims there is ``UnverifiedToken``.
public struct CompactJWS: Sendable {
  /// The longest token that is read, in bytes.
  public static let maximumByteCount = 64 << 10
  /// How deep the JSON of a header or of claims may be nested.
  static let maximumDepth = 32

  /// The header, as it was signed. Members that name other keys (`jku`, `jwk`, `x5u`, `x5c`) mean nothing here.
  public let header: JSONObject
  /// The header's `alg`, one of those allowed.
  public let algorithm: SignatureAlgorithm
  /// The header's `kid`.
  public let keyID: String

  /// The payload before its signature was judged: for checks that can only refuse.
  let unverifiedPayload: [UInt8]
  private let signingInput: [UInt8]
  private let signature: [UInt8]

  /// Judges form and header.
  ///
  /// - Throws: ``TokenError``.
  public init(parsing token: [UInt8], allowedAlgorithms: Set<SignatureAlgorithm>) throws(TokenError) {
    guard token.count <= Self.maximumByteCount else { throw TokenError(code: .tooLarge) }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let headerBytes = Base64URL.decode(parts[0])
    let header = headerBytes.flatMap(Self.object)
    // An encrypted token has five parts and an unsecured one an empty third: the algorithm is the better reason.
    if let named = header?["alg"]?.string, Self.algorithm(named, in: allowedAlgorithms) == nil {
      throw TokenError(code: .algorithmNotAllowed)
    }
    guard parts.count == 3 else { throw TokenError(code: .partCount) }
    guard !parts.contains(where: \.isEmpty) else { throw TokenError(code: .partEmpty) }
    guard headerBytes != nil, let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2]) else {
      throw TokenError(code: .base64Invalid)
    }
    guard let header else { throw TokenError(code: .headerInvalid) }
    self.header = header
    algorithm = try Self.algorithm(of: header, allowed: allowedAlgorithms)
    guard header["crit"] == nil else { throw TokenError(code: .criticalHeader) }
    guard header["zip"] == nil, header["b64"] == nil, header["enc"] == nil else { throw TokenError(code: .headerNotAllowed) }
    guard let keyID = header["kid"] else { throw TokenError(code: .keyIDMissing) }
    guard let keyID = keyID.string, KeyID.isValid(keyID) else { throw TokenError(code: .keyIDInvalid) }
    self.keyID = keyID
    unverifiedPayload = payload
    signingInput = Array(token[..<parts[1].endIndex])
    self.signature = signature
  }

  /// The key the header names. An unknown name is a reason to fetch the keys once more.
  ///
  /// - Throws: ``TokenError`` with ``TokenError/Code/keyUnknown``.
  public func key(in keys: JWKSet) throws(TokenError) -> VerificationKey {
    guard let key = keys[keyID] else { throw TokenError(code: .keyUnknown) }
    return key
  }

  /// Checks the signature and gives out exactly the payload that it covers.
  ///
  /// - Throws: ``TokenError`` with ``TokenError/Code/keyUnknown`` if the key has another name,
  ///   ``TokenError/Code/keyNotAllowed`` if it is for another algorithm, ``TokenError/Code/signatureInvalid``.
  public func payload(verifiedBy key: VerificationKey) throws(TokenError) -> [UInt8] {
    guard key.keyID == keyID else { throw TokenError(code: .keyUnknown) }
    guard key.algorithm == algorithm else { throw TokenError(code: .keyNotAllowed) }
    guard key.isValidSignature(signature, of: signingInput) else { throw TokenError(code: .signatureInvalid) }
    return unverifiedPayload
  }

  /// One strict JSON object, or nil.
  static func object(_ bytes: [UInt8]) -> JSONObject? {
    let options = JSONParser.Options(
      maximumDepth: maximumDepth, maximumByteCount: maximumByteCount, requiresFiniteNumbers: true)
    return (try? JSONParser.parse(bytes, options: options))?.object
  }

  private static func algorithm(
    of header: JSONObject, allowed: Set<SignatureAlgorithm>
  ) throws(TokenError) -> SignatureAlgorithm {
    guard let named = header["alg"] else { throw TokenError(code: .algorithmMissing) }
    guard let algorithm = named.string.flatMap({ Self.algorithm($0, in: allowed) }) else {
      throw TokenError(code: .algorithmNotAllowed)
    }
    return algorithm
  }

  private static func algorithm(_ name: String, in allowed: Set<SignatureAlgorithm>) -> SignatureAlgorithm? {
    allowed.first { $0.rawValue.hasSameBytes(as: name) }
  }
}

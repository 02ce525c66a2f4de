public import JSON

/// A token that was signed by a known key and fits the policy. Nothing else makes one.
public struct VerifiedToken: Sendable {
  /// The header.
  public let header: JSONObject
  /// The name of the key that signed it.
  public let keyID: String
  /// The algorithm that signed it.
  public let algorithm: SignatureAlgorithm
  /// Every claim.
  public let claims: JSONObject

  private let judged: JudgedClaims

  init(header: JSONObject, keyID: String, algorithm: SignatureAlgorithm, claims: JSONObject, judged: JudgedClaims) {
    self.header = header
    self.keyID = keyID
    self.algorithm = algorithm
    self.claims = claims
    self.judged = judged
  }

  /// `iss`, one of the policy's.
  public var issuer: String { judged.issuer }
  /// `sub`: never nil nor empty under ``VerificationPolicy/SubjectRule/required``; else nil if absent.
  public var subject: String? { judged.subject }
  /// `aud`, at least one.
  public var audiences: [String] { judged.audiences }
  /// `azp`, if present.
  public var authorizedParty: String? { judged.authorizedParty }
  /// `exp`, in seconds since 1970, a fraction cut off.
  public var expiry: Int64 { judged.expiry }
  /// `iat`, in seconds since 1970, a fraction rounded up.
  public var issuedAt: Int64 { judged.issuedAt }
  /// `nbf`, in seconds since 1970, a fraction rounded up, if present.
  public var notBefore: Int64? { judged.notBefore }
}

/// The whole check in one step, for keys that are at hand.
public enum TokenVerifier {
  /// Judges form, header, claims, key and signature. A pure function of its arguments.
  ///
  /// - Parameters:
  ///   - token: The compact form, as received.
  ///   - keys: The keys that may have signed it.
  ///   - policy: What it must be.
  ///   - now: Seconds since 1970.
  /// - Throws: ``TokenError`` with the first thing wrong.
  public static func verify(
    _ token: [UInt8], keys: JWKSet, policy: VerificationPolicy, now: Int64
  ) throws(TokenError) -> VerifiedToken {
    let token = try UnverifiedToken(parsing: token, policy: policy, now: now)
    return try token.verified(by: token.key(in: keys))
  }

  /// Checks form, header and signature, and looks at no claim: the payload may be any bytes.
  ///
  /// - Returns: The payload.
  /// - Throws: ``TokenError`` with the first thing wrong.
  public static func verifySignature(
    _ token: [UInt8], keys: JWKSet, allowedAlgorithms: Set<SignatureAlgorithm>
  ) throws(TokenError) -> [UInt8] {
    let message = try CompactJWS(parsing: token, allowedAlgorithms: allowedAlgorithms)
    return try message.payload(verifiedBy: message.key(in: keys))
  }
}

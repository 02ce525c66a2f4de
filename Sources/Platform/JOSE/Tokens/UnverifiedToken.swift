import JSON

/// A token that only its signature can still fail: form, header and claims fit the policy.
///
/// Judging it costs microseconds and no key, so it comes before any fetch. The claims come out only through
/// ``verified(by:)``.
///
/// ```swift
/// let token = try UnverifiedToken(parsing: bytes, policy: policy, now: seconds)
/// let key = keys[token.keyID] ?? (await refetch())[token.keyID]   // unknown: at most one fetch, rate-limited
/// guard let key else { throw TokenError(code: .keyUnknown) }
/// let verified = try token.verified(by: key)
/// ```
public struct UnverifiedToken: Sendable {
  private let message: CompactJWS
  private let claims: JSONObject
  private let judged: JudgedClaims

  /// Judges form, header and claims.
  ///
  /// - Parameters:
  ///   - token: The compact form, as received.
  ///   - policy: What it must be.
  ///   - now: Seconds since 1970.
  /// - Throws: ``TokenError`` with the first thing wrong, in the order: form, header, issuer, audience, authorized party,
  ///   expiry, issue time, not-before, age, subject.
  public init(parsing token: [UInt8], policy: VerificationPolicy, now: Int64) throws(TokenError) {
    message = try CompactJWS(parsing: token, allowedAlgorithms: policy.allowedAlgorithms)
    guard let claims = CompactJWS.object(message.unverifiedPayload) else { throw TokenError(code: .payloadInvalid) }
    self.claims = claims
    judged = try JudgedClaims(claims, policy: policy, now: now)
  }

  /// The name of the key that must have signed it.
  public var keyID: String { message.keyID }

  /// The algorithm that must have signed it.
  public var algorithm: SignatureAlgorithm { message.algorithm }

  /// The key the header names.
  ///
  /// - Throws: ``TokenError`` with ``TokenError/Code/keyUnknown``: a reason to fetch the keys once more.
  public func key(in keys: JWKSet) throws(TokenError) -> VerificationKey { try message.key(in: keys) }

  /// Checks the signature. The claims given out are those of the bytes that it covers.
  ///
  /// - Throws: ``TokenError`` with ``TokenError/Code/keyUnknown`` if the key has another name,
  ///   ``TokenError/Code/keyNotAllowed`` if it is for another algorithm, ``TokenError/Code/signatureInvalid``.
  public func verified(by key: VerificationKey) throws(TokenError) -> VerifiedToken {
    _ = try message.payload(verifiedBy: key)
    return VerifiedToken(header: message.header, keyID: keyID, algorithm: algorithm, claims: claims, judged: judged)
  }
}

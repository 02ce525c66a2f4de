import JSON

/// The registered claims of a token (RFC 7519 section 4.1, OpenID Connect Core section 2), judged by a policy.
struct JudgedClaims: Sendable {
  let issuer: String
  let audiences: [String]
  let authorizedParty: String?
  let expiry: Int64
  let issuedAt: Int64
  let notBefore: Int64?
  let subject: String?

  init(_ claims: JSONObject, policy: VerificationPolicy, now: Int64) throws(TokenError) {
    issuer = try Self.issuer(claims, policy)
    audiences = try Self.audiences(claims, policy)
    authorizedParty = try Self.authorizedParty(claims, policy)

    guard let expiry = claims["exp"] else { throw TokenError(code: .expiryMissing) }
    // Fractions are rounded so that a token lives shorter, never longer.
    guard let expiry = Self.seconds(expiry, rounding: .down) else { throw TokenError(code: .expiryMalformed) }
    let leeway = policy.expiryLeeway.components.seconds
    // Without leeway the letter of RFC 7519 holds: a token is dead at the second that `exp` names.
    guard now <= expiry + leeway, leeway > 0 || now < expiry else { throw TokenError(code: .expired) }
    self.expiry = expiry

    guard let issuedAt = claims["iat"] else { throw TokenError(code: .issuedAtMissing) }
    guard let issuedAt = Self.seconds(issuedAt, rounding: .up) else { throw TokenError(code: .issuedAtMalformed) }
    guard issuedAt <= now + policy.issuedAtLeeway.components.seconds else { throw TokenError(code: .issuedInFuture) }
    self.issuedAt = issuedAt

    notBefore = try Self.notBefore(claims, policy, now: now)
    if let maximumAge = policy.maximumAge, .seconds(now - issuedAt) > maximumAge { throw TokenError(code: .tooOld) }
    subject = try Self.subject(claims, policy)
  }

  private static func issuer(_ claims: JSONObject, _ policy: VerificationPolicy) throws(TokenError) -> String {
    guard let issuer = claims["iss"] else { throw TokenError(code: .issuerMissing) }
    guard let issuer = issuer.string else { throw TokenError(code: .issuerMalformed) }
    guard policy.issuers.contains(where: { $0.hasSameBytes(as: issuer) }) else { throw TokenError(code: .issuerMismatch) }
    return issuer
  }

  private static func audiences(_ claims: JSONObject, _ policy: VerificationPolicy) throws(TokenError) -> [String] {
    let audiences: [String]
    switch claims["aud"] {
    case nil: throw TokenError(code: .audienceMissing)
    case .string(let audience): audiences = [audience]
    case .array(let elements):
      guard !elements.isEmpty else { throw TokenError(code: .audienceEmpty) }
      audiences = elements.compactMap(\.string)
      guard audiences.count == elements.count else { throw TokenError(code: .audienceMalformed) }
    default: throw TokenError(code: .audienceMalformed)
    }
    guard audiences.contains(where: { isAudience($0, of: policy) }) else { throw TokenError(code: .audienceMismatch) }
    return audiences
  }

  private static func authorizedParty(_ claims: JSONObject, _ policy: VerificationPolicy) throws(TokenError) -> String? {
    guard let party = claims["azp"] else { return nil }
    guard let party = party.string else { throw TokenError(code: .authorizedPartyMalformed) }
    guard !policy.requiresAuthorizedPartyInAudiences || isAudience(party, of: policy) else {
      throw TokenError(code: .authorizedPartyMismatch)
    }
    return party
  }

  private static func notBefore(_ claims: JSONObject, _ policy: VerificationPolicy, now: Int64) throws(TokenError) -> Int64? {
    guard let notBefore = claims["nbf"] else { return nil }
    guard let notBefore = seconds(notBefore, rounding: .up) else { throw TokenError(code: .notBeforeMalformed) }
    guard notBefore <= now + policy.notBeforeLeeway.components.seconds else { throw TokenError(code: .notYetValid) }
    return notBefore
  }

  private static func subject(_ claims: JSONObject, _ policy: VerificationPolicy) throws(TokenError) -> String? {
    let isRequired = policy.subjectRule == .required
    guard let subject = claims["sub"] else {
      if isRequired { throw TokenError(code: .subjectMissing) }
      return nil
    }
    guard let subject = subject.string else { throw TokenError(code: .subjectMalformed) }
    if isRequired, subject.isEmpty { throw TokenError(code: .subjectEmpty) }
    return subject
  }

  private static func isAudience(_ text: String, of policy: VerificationPolicy) -> Bool {
    policy.audiences.contains { $0.hasSameBytes(as: text) }
  }

  /// A NumericDate: whole or with a fraction, within what a double holds exactly, so that sums with a leeway cannot overflow.
  private static func seconds(_ value: JSONValue, rounding rule: FloatingPointRoundingRule) -> Int64? {
    guard let double = value.number?.double, abs(double) <= 0x1p53 else { return nil }
    return Int64(double.rounded(rule))
  }
}

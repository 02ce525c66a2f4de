/// Why a token is refused: one answer for the caller, a distinct reason for the log.
public struct TokenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason, as a word for logs and metrics; new reasons may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// The reason.
  public let code: Code

  /// A refusal for that reason.
  public init(code: Code) { self.code = code }

  /// What the sender of the token may be told, the same for every reason.
  public var message: String { "the token is not valid" }

  /// The reason's word; nothing of the token.
  public var description: String { code.description }
}

/// The form of the token.
extension TokenError.Code {
  /// Longer than ``CompactJWS/maximumByteCount``: refused unread.
  public static let tooLarge = Self("too_large")
  /// Not three parts between two points, and no header that names an algorithm which is not allowed.
  public static let partCount = Self("part_count")
  /// A part is empty.
  public static let partEmpty = Self("part_empty")
  /// A part is not canonical base64url.
  public static let base64Invalid = Self("base64_invalid")
  /// The header is not one strict JSON object.
  public static let headerInvalid = Self("header_invalid")
  /// The payload is not one strict JSON object.
  public static let payloadInvalid = Self("payload_invalid")
}

/// The header.
extension TokenError.Code {
  /// There is no `alg`.
  public static let algorithmMissing = Self("algorithm_missing")
  /// `alg` is not one of those the policy allows; encrypted and unsecured tokens end here, whatever their form.
  public static let algorithmNotAllowed = Self("algorithm_not_allowed")
  /// `crit` demands extensions; there are none here.
  public static let criticalHeader = Self("critical_header")
  /// `zip`, `b64` or `enc` would change what the payload means.
  public static let headerNotAllowed = Self("header_not_allowed")
  /// There is no `kid`.
  public static let keyIDMissing = Self("kid_missing")
  /// `kid` is not 1 to 256 printable ASCII characters.
  public static let keyIDInvalid = Self("kid_invalid")
}

/// The key and the signature.
extension TokenError.Code {
  /// No key has the token's `kid`: fetch the keys once more, then refuse.
  public static let keyUnknown = Self("key_unknown")
  /// The key of that name is for another algorithm.
  public static let keyNotAllowed = Self("key_not_allowed")
  /// The signature is not the key's.
  public static let signatureInvalid = Self("signature_invalid")
}

/// The claims.
extension TokenError.Code {
  /// There is no `iss`.
  public static let issuerMissing = Self("issuer_missing")
  /// `iss` is no string.
  public static let issuerMalformed = Self("issuer_malformed")
  /// `iss` is not one of the policy's.
  public static let issuerMismatch = Self("issuer_mismatch")
  /// There is no `aud`.
  public static let audienceMissing = Self("audience_missing")
  /// `aud` is neither a string nor an array of strings.
  public static let audienceMalformed = Self("audience_malformed")
  /// `aud` is an empty array.
  public static let audienceEmpty = Self("audience_empty")
  /// None of `aud` is one of the policy's.
  public static let audienceMismatch = Self("audience_mismatch")
  /// `azp` is no string.
  public static let authorizedPartyMalformed = Self("authorized_party_malformed")
  /// `azp` is not one of the policy's audiences.
  public static let authorizedPartyMismatch = Self("authorized_party_mismatch")
  /// There is no `exp`.
  public static let expiryMissing = Self("expiry_missing")
  /// `exp` is no number of seconds.
  public static let expiryMalformed = Self("expiry_malformed")
  /// `exp` has passed, leeway included.
  public static let expired = Self("expired")
  /// There is no `iat`.
  public static let issuedAtMissing = Self("issued_at_missing")
  /// `iat` is no number of seconds.
  public static let issuedAtMalformed = Self("issued_at_malformed")
  /// `iat` is still to come, leeway included.
  public static let issuedInFuture = Self("issued_in_future")
  /// `iat` is longer ago than the policy's maximum age.
  public static let tooOld = Self("too_old")
  /// `nbf` is no number of seconds.
  public static let notBeforeMalformed = Self("not_before_malformed")
  /// `nbf` is still to come, leeway included.
  public static let notYetValid = Self("not_yet_valid")
  /// There is no `sub`, and the policy requires one.
  public static let subjectMissing = Self("subject_missing")
  /// `sub` is no string.
  public static let subjectMalformed = Self("subject_malformed")
  /// `sub` is empty, and the policy requires one.
  public static let subjectEmpty = Self("subject_empty")
}

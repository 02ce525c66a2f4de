internal import JOSE
internal import JSON
internal import OpenID

/// What a verified identity token of Apple says. The person's name is never in it.
public struct AppleIdentityToken: Sendable, Hashable {
  /// How sure Apple is that the person is one.
  public enum RealUser: Int64, Sendable, Hashable {
    /// The platform does not say.
    case unsupported = 0
    /// Apple does not know.
    case unknown = 1
    /// Probably a person.
    case likelyReal = 2
  }

  /// Apple's identifier of the account, the same for all apps of one developer team; 1 to 255 bytes.
  public let subject: String
  /// `iss`.
  public let issuer: String
  /// The first of the token's audiences that is allowed: a bundle id, or a services id.
  public let audience: String
  /// `iat`, in seconds since 1970.
  public let issuedAt: Int64
  /// `exp`, in seconds since 1970.
  public let expiry: Int64
  /// `email`: the person's own, or a relay's.
  public let email: String?
  /// `email_verified`; nil when the token does not say.
  public let emailIsVerified: Bool?
  /// `is_private_email`: whether the address is a relay's. Absent means that it is not.
  public let emailIsPrivate: Bool
  /// `nonce`: never empty.
  public let nonce: String?
  /// `nonce_supported`: false only where the token says so. Then, and only then, a missing nonce is no reason to refuse.
  public let supportsNonce: Bool
  /// `real_user_status`, told at the first sign-in only.
  public let realUser: RealUser?

  /// The longest subject that an account is kept under, in bytes.
  static let maximumSubjectLength = 255

  init(_ token: VerifiedToken, allowedAudiences: [String]) throws(IDTokenError) {
    let subject = token.subject ?? ""
    guard !subject.isEmpty, subject.utf8.count <= Self.maximumSubjectLength else {
      throw IDTokenError(.rejected, reason: "subject_too_long")
    }
    self.subject = subject
    issuer = token.issuer
    audience = token.audiences.first(where: allowedAudiences.contains) ?? token.audiences[0]
    issuedAt = token.issuedAt
    expiry = token.expiry
    email = try token.text("email")
    emailIsVerified = try token.flag("email_verified")
    emailIsPrivate = try token.flag("is_private_email") ?? false
    nonce = try token.nonce()
    supportsNonce = try token.flag("nonce_supported") ?? true
    realUser = token.claims["real_user_status"]?.int64.flatMap(RealUser.init)
  }
}

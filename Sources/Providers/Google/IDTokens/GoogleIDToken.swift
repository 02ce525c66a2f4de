internal import JOSE
internal import JSON
internal import OpenID

/// What a verified ID token of Google says.
public struct GoogleIDToken: Sendable, Hashable {
  /// Google's identifier of the account; nil or empty where the token names none.
  public let subject: String?
  /// `iss`.
  public let issuer: String
  /// The first of the token's audiences that is allowed.
  public let audience: String
  /// `exp`, in seconds since 1970.
  public let expiry: Int64
  /// `iat`, in seconds since 1970.
  public let issuedAt: Int64
  /// `email`.
  public let email: String?
  /// `email_verified`.
  public let emailIsVerified: Bool?
  /// `name`.
  public let name: String?
  /// `given_name`.
  public let givenName: String?
  /// `picture`.
  public let picture: String?
  /// `hd`, the hosted domain.
  public let hostedDomain: String?
  /// `nonce`: never empty.
  public let nonce: String?

  init(_ token: VerifiedToken, allowedAudiences: [String]) throws(IDTokenError) {
    subject = token.subject
    issuer = token.issuer
    audience = token.audiences.first(where: allowedAudiences.contains) ?? token.audiences[0]
    expiry = token.expiry
    issuedAt = token.issuedAt
    email = token.claims["email"]?.string
    emailIsVerified = token.claims["email_verified"]?.bool
    name = token.claims["name"]?.string
    givenName = token.claims["given_name"]?.string
    picture = token.claims["picture"]?.string
    hostedDomain = token.claims["hd"]?.string
    nonce = try token.nonce()
  }
}

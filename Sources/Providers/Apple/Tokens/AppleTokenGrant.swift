internal import JOSE
internal import JSON
internal import Outbound

/// What Apple's token endpoint hands out.
public struct AppleTokenGrant: Sendable, Hashable {
  /// The token that lives until it is revoked, a secret; told for a code, not for a refresh token.
  public let refreshToken: String?
  /// An identity token, unverified: it came from Apple itself, over TLS.
  public let identityToken: String?
  /// The access token: Apple has no use for it but revoking it.
  public let accessToken: String?

  /// Whose grant it is, by the identity token. OpenID Connect Core 1.0, section 3.1.3.7: what came from the token endpoint itself over
  /// TLS need not prove its issuer by a signature. Nil when there is no such token, or it names nobody.
  public var subject: String? {
    guard let parts = identityToken?.split(separator: ".", omittingEmptySubsequences: false), parts.count == 3,
      let payload = Base64URL.decode(String(parts[1])), let claims = try? JSONParser.parse(payload).object
    else { return nil }
    return claims["sub"]?.string
  }

  init(_ body: [UInt8]) throws(AppleTokenError) {
    guard let object = try? JSONParser.parse(body).object else {
      throw AppleTokenError(.malformed, detail: "no JSON object")
    }
    (refreshToken, identityToken) = (object["refresh_token"]?.string, object["id_token"]?.string)
    accessToken = object["access_token"]?.string
  }
}

/// Never shows the tokens.
extension AppleTokenGrant: CustomStringConvertible, CustomReflectable {
  /// A word that is no secret.
  public var description: String { "AppleTokenGrant(hidden)" }
  /// Shows nothing.
  public var customMirror: Mirror { Mirror(self, children: ["value": "hidden"]) }
}

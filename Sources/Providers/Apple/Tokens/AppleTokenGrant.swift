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

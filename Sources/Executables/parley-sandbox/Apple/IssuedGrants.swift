import JOSE
import JSON

/// The codes and refresh tokens that the stand-in has handed out.
struct IssuedGrants: Sendable {
  /// Whose it is, and which client's.
  struct Owner: Sendable, Equatable {
    let subject: String
    let clientID: String
  }

  /// How long a code serves, in seconds.
  static let codeLife: Int64 = 300

  private var codes: [String: (owner: Owner, issuedAt: Int64)] = [:]
  private var refreshTokens: [String: Owner] = [:]
  private var accessTokens: [String: Owner] = [:]
  /// How many requests to revoke there were that had something to revoke.
  private(set) var revocations = 0

  /// A code for a sign-in, at a time in seconds since 1970.
  mutating func code(for owner: Owner, now: Int64) -> String {
    codes = codes.filter { now - $0.value.issuedAt < Self.codeLife }
    let code = "c" + Base64URL.encode(SecureRandom.bytes(24)) + ".0.sandbox"
    codes[code] = (owner, now)
    return code
  }

  /// Takes a code: it serves once, even if it served the wrong client.
  mutating func take(code: String, clientID: String, now: Int64) -> Owner? {
    guard let (owner, issuedAt) = codes.removeValue(forKey: code), owner.clientID == clientID, now - issuedAt < Self.codeLife
    else {
      return nil
    }
    return owner
  }

  /// A refresh token that holds until it is revoked.
  mutating func refreshToken(for owner: Owner) -> String {
    let token = "r" + Base64URL.encode(SecureRandom.bytes(24)) + ".0.sandbox"
    refreshTokens[token] = owner
    return token
  }

  /// An access token.
  mutating func accessToken(for owner: Owner) -> String {
    let token = "a" + Base64URL.encode(SecureRandom.bytes(24)) + ".0.sandbox"
    accessTokens[token] = owner
    return token
  }

  /// Whose refresh token it is.
  func owner(ofRefreshToken token: String, clientID: String) -> Owner? {
    refreshTokens[token].flatMap { $0.clientID == clientID ? $0 : nil }
  }

  /// Revokes all that the owner of a token has; a token that nobody has revokes nothing.
  mutating func revoke(_ token: String, clientID: String) {
    guard let owner = refreshTokens[token] ?? accessTokens[token], owner.clientID == clientID else { return }
    refreshTokens = refreshTokens.filter { $0.value != owner }
    accessTokens = accessTokens.filter { $0.value != owner }
    revocations += 1
  }

  /// How many there are.
  var json: JSONValue {
    [
      "codes": .number(JSONNumber(codes.count)), "refreshTokens": .number(JSONNumber(refreshTokens.count)),
      "revocations": .number(JSONNumber(revocations)),
    ]
  }
}

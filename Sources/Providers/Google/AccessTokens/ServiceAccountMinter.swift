internal import JOSE
internal import JSON
public import Logging
public import OpenID
internal import Outbound

/// Gets tokens for a service account by showing an assertion that its key signed (RFC 7523).
///
/// Up to three attempts within its timeout, as `TokenExchange` says.
public final class ServiceAccountMinter: CloudTokenSource {
  /// How long an assertion lives, and with it the token.
  private static let lifetime: Int64 = 3600

  private let key: ServiceAccountKey
  private let tokenURI: String
  private let exchange: TokenExchange
  private let clock: ProviderClock

  /// A minter for the account of `key`.
  ///
  /// - Parameters:
  ///   - key: Whose account signs.
  ///   - tokenURI: Where to ask instead of where the key file says.
  ///   - timeout: How long all attempts may take together.
  ///   - http: The way out.
  ///   - clock: What dates the assertions.
  ///   - log: Who is told of failed attempts.
  public init(
    _ key: ServiceAccountKey, tokenURI: String? = nil, timeout: Duration = .seconds(10), over http: any HTTPSending,
    clock: ProviderClock, log: Logger
  ) {
    self.key = key
    self.tokenURI = tokenURI ?? key.tokenURI
    exchange = TokenExchange(timeout: timeout, http: http, clock: clock, log: log)
    self.clock = clock
  }

  /// Asks for a new token.
  public func mint(scope: String) async throws(MintError) -> CloudToken {
    try await exchange.run(TokenAnswer.read) { () async throws(MintError) in
      .form(self.tokenURI, try self.form(scope))
    }
  }

  private func form(_ scope: String) throws(MintError) -> String {
    let now = clock.unixSeconds()
    let claims: JSONObject = [
      "iss": .string(key.clientEmail), "scope": .string(scope), "aud": .string(tokenURI), "iat": .number(JSONNumber(now)),
      "exp": .number(JSONNumber(now + Self.lifetime)),
    ]
    do {
      // A JWT has no character that a form would have to escape.
      return "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        + (try key.signingKey.sign(claims: claims))
    } catch {
      throw MintError(.notSigned, detail: error.description)
    }
  }
}

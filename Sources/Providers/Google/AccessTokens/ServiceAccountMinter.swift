internal import EventLoop
internal import JOSE
internal import JSON
public import Logging
public import OpenID
internal import Outbound

/// Gets tokens for a service account by showing an assertion that its key signed (RFC 7523).
///
/// Three attempts within its timeout: after a network failure, 408, 429, 500, 503, 504, or an error that says that it will pass;
/// 1 s and 2 s apart, give or take a tenth.
public final class ServiceAccountMinter: CloudTokenSource {
  /// How long an assertion lives, and with it the token.
  private static let lifetime: Int64 = 3600
  private static let attempts = 3

  private let key: ServiceAccountKey
  private let tokenURI: String
  private let timeout: Duration
  private let http: any HTTPSending
  private let clock: ProviderClock
  private let log: Logger

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
    self.timeout = timeout
    self.http = http
    self.clock = clock
    self.log = log
  }

  /// Asks for a new token.
  public func mint(scope: String) async throws(MintError) -> CloudToken {
    let deadline = clock.now().advanced(by: timeout)
    var attempt = 1
    while true {
      let failure: TokenAnswer.Failure
      switch try await ask(scope, until: deadline) {
      case .success(let token): return token
      case .failure(let found): failure = found
      }
      let pause = Duration.seconds(1 << (attempt - 1)) * (0.9 + 0.2 * clock.random())
      guard failure.mayPass, attempt < Self.attempts, clock.now().advanced(by: pause) < deadline else { throw failure.error }
      log.warning("minting again", metadata: ["attempt": "\(attempt)", "error": "\(failure.error)", "pause": "\(pause)"])
      do { try await clock.sleep(pause) } catch { throw MintError(.cancelled) }
      attempt += 1
    }
  }

  private func ask(
    _ scope: String, until deadline: MonotonicInstant
  ) async throws(MintError) -> Result<CloudToken, TokenAnswer.Failure> {
    var request = HTTPRequest(
      .post, tokenURI, headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
      body: Array(try form(scope).utf8))
    request.deadline = deadline
    request.timeout = timeout
    request.maximumResponseSize = 1 << 20
    request.retry = RetryPolicy.never
    let response: HTTPResponse
    do { response = try await http.send(request) } catch {
      if error.code == .cancelled { throw MintError(.cancelled) }
      let mayPass = [.connectFailed, .connectionLost, .timeout].contains(error.code)
      return .failure(.init(error: MintError(.unreachable, detail: "\(error.code)"), mayPass: mayPass))
    }
    return TokenAnswer.read(response, at: clock.now())
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

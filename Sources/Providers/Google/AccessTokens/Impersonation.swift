internal import EventLoop
internal import JSON
public import Logging
internal import MessagesCore
public import OpenID
internal import Outbound

/// Gets tokens of another service account, which has granted the caller's own the role of a token creator on it
/// (`iamcredentials`, `generateAccessToken`).
///
/// Up to three attempts within its timeout, as `TokenExchange` says; asking for the caller's own token takes time of its own.
public final class Impersonation: CloudTokenSource {
  /// Where Google's accounts are impersonated.
  public static let defaultBase = "https://iamcredentials.googleapis.com"
  /// The scope that the caller's own token needs.
  public static let callerScope = "https://www.googleapis.com/auth/cloud-platform"

  private let url: String
  private let lifetime: Int64
  private let caller: any CloudTokenSource
  private let exchange: TokenExchange
  private let clock: ProviderClock

  /// Impersonates `account`.
  ///
  /// - Parameters:
  ///   - account: Whose tokens are wanted.
  ///   - base: The scheme, host and port to ask at.
  ///   - lifetime: How long the tokens live: at most an hour, unless the organization allows more.
  ///   - caller: Where the caller's own tokens come from; it should remember them.
  ///   - timeout: How long all attempts may take together.
  ///   - http: The way out.
  ///   - clock: What tells how much time a token has left.
  ///   - log: Who is told of failed attempts.
  public convenience init(
    of account: ServiceAccountName, base: String = defaultBase, lifetime: Duration = .seconds(900),
    as caller: any CloudTokenSource,
    timeout: Duration = .seconds(10), over http: any HTTPSending, clock: ProviderClock, log: Logger
  ) {
    // The hyphen is literal: a project there is refused.
    self.init(
      at: "\(base)/v1/projects/-/serviceAccounts/\(account):generateAccessToken", lifetime: lifetime, as: caller,
      timeout: timeout,
      over: http, clock: clock, log: log)
  }

  /// Impersonates the account that a whole URL names.
  init(
    at url: String, lifetime: Duration, as caller: any CloudTokenSource, timeout: Duration, over http: any HTTPSending,
    clock: ProviderClock, log: Logger
  ) {
    self.url = url
    self.lifetime = lifetime.components.seconds
    self.caller = caller
    exchange = TokenExchange(timeout: timeout, http: http, clock: clock, log: log)
    self.clock = clock
  }

  /// Asks for a new token.
  public func mint(scope: String) async throws(MintError) -> CloudToken {
    let body: JSONValue = [
      "scope": .array(scope.split(separator: " ").map { .string(String($0)) }), "lifetime": .string("\(lifetime)s"),
    ]
    return try await exchange.run(read) { () async throws(MintError) in
      let own = try await self.caller.mint(scope: Self.callerScope)
      return HTTPRequest(
        .post, self.url,
        headers: ["Content-Type": "application/json", "Accept": "application/json", "Authorization": "Bearer \(own.value)"],
        body: body.encoded())
    }
  }

  private func read(_ response: HTTPResponse, _ now: MonotonicInstant) -> Result<CloudToken, TokenAnswer.Failure> {
    let object = try? JSONParser.parse(response.body).object
    guard response.isSuccess else { return .failure(TokenAnswer.failure(response.status, object, passing: [502])) }
    guard let value = object?["accessToken"]?.string, TokenAnswer.isToken(value) else {
      return .failure(.init(error: MintError(.malformed, detail: "no accessToken"), mayPass: false))
    }
    guard let end = object?["expireTime"]?.string.flatMap(InternetTime.parse)?.seconds else {
      return .failure(.init(error: MintError(.malformed, detail: "no expireTime"), mayPass: false))
    }
    // It lives no longer than was asked for, whatever a clock that is ahead of ours makes of it.
    let left = max(0, min(end - clock.unixSeconds(), lifetime))
    return .success(CloudToken(value: value, expiresAt: now.advanced(by: .seconds(left))))
  }
}

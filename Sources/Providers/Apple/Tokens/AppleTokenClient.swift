internal import EventLoop
internal import JOSE
internal import JSON
public import Logging
public import OpenID
internal import Outbound
internal import RPC

/// Apple's token endpoints, for the clients of one developer team.
///
/// What may pass is tried up to three times, 1 s and 2 s apart, give or take a tenth. A code is sent again only where nothing of
/// the first attempt can have arrived: it serves once.
public final class AppleTokenClient: Sendable {
  /// Where Apple is.
  public struct Endpoints: Sendable, Hashable {
    /// Exchanges codes and refresh tokens.
    public var token = "https://appleid.apple.com/auth/token"
    /// Revokes tokens.
    public var revoke = "https://appleid.apple.com/auth/revoke"
    /// What a client secret names as its audience.
    public var audience = AppleIdentityTokenPolicy.appleIssuer

    /// Apple's own.
    public init() {}
  }

  /// What is revoked.
  public enum TokenKind: String, Sendable, Hashable {
    /// A refresh token, and with it all that came of it.
    case refreshToken = "refresh_token"
    /// An access token.
    case accessToken = "access_token"
  }

  /// How a revocation ended well.
  public enum Revocation: Sendable, Hashable {
    /// Apple has revoked the token.
    case revoked
    /// Apple says that the token is none of this client's, or no longer: there is nothing to revoke.
    case alreadyInvalid
  }

  private static let passingStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]

  private let credential: AppleCredential
  private let endpoints: Endpoints
  private let timeout: Duration
  private let http: any HTTPSending
  private let clock: ProviderClock
  private let log: Logger

  /// A client.
  ///
  /// - Parameters:
  ///   - credential: What proves the team.
  ///   - endpoints: Where Apple is.
  ///   - timeout: How long all attempts may take together.
  ///   - http: The way out.
  ///   - clock: What dates the client secrets.
  ///   - log: Who is told of failed attempts.
  public init(
    _ credential: AppleCredential, endpoints: Endpoints = .init(), timeout: Duration = .seconds(10), over http: any HTTPSending,
    clock: ProviderClock, log: Logger
  ) {
    self.credential = credential
    self.endpoints = endpoints
    self.timeout = timeout
    self.http = http
    self.clock = clock
    self.log = log
  }

  /// Exchanges the authorization code of a sign-in, which serves once and for some minutes.
  ///
  /// - Parameters:
  ///   - code: The code, as the app got it.
  ///   - clientID: The audience of the identity token that came with it.
  ///   - redirectURI: The address that the code was sent to; nil for native apps.
  public func exchange(
    code: String, clientID: String, redirectURI: String? = nil
  ) async throws(AppleTokenError) -> AppleTokenGrant {
    var fields = [("grant_type", "authorization_code"), ("code", code)]
    if let redirectURI { fields.append(("redirect_uri", redirectURI)) }
    return try AppleTokenGrant(try await ask(endpoints.token, fields, clientID, servesOnce: true))
  }

  /// Asks whether a refresh token still holds. Apple allows this about once a day for each person.
  public func refresh(_ refreshToken: String, clientID: String) async throws(AppleTokenError) -> AppleTokenGrant {
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]
    return try AppleTokenGrant(try await ask(endpoints.token, fields, clientID, servesOnce: false))
  }

  /// Revokes a token, as the deletion of an account must (Apple TN3194).
  public func revoke(
    _ token: String, kind: TokenKind = .refreshToken, clientID: String
  ) async throws(AppleTokenError) -> Revocation {
    do {
      _ = try await ask(endpoints.revoke, [("token", token), ("token_type_hint", kind.rawValue)], clientID, servesOnce: false)
      return .revoked
    } catch {
      guard error.code == .invalidGrant else { throw error }
      return .alreadyInvalid
    }
  }

  // MARK: Asking

  private struct Failure: Error {
    let error: AppleTokenError
    /// Whether another attempt may go better.
    let mayPass: Bool
  }

  private func ask(
    _ url: String, _ fields: [(String, String)], _ clientID: String, servesOnce: Bool
  ) async throws(AppleTokenError) -> [UInt8] {
    let deadline = clock.now().advanced(by: timeout)
    let attempts = Attempts("asking Apple again", pause: .seconds(1), share: 0.9, spread: 0.2, clock: clock, log: log)
    return try await attempts.run(until: deadline, cancelled: AppleTokenError(.cancelled)) {
      () async throws(AppleTokenError) in
      switch try await attemptOnce(url, fields, clientID, servesOnce: servesOnce, until: deadline) {
      case .success(let body): .success(body)
      case .failure(let found): .failure(found.error, again: found.mayPass ? .zero : nil)
      }
    }
  }

  private func attemptOnce(
    _ url: String, _ fields: [(String, String)], _ clientID: String, servesOnce: Bool, until deadline: MonotonicInstant
  ) async throws(AppleTokenError) -> Result<[UInt8], Failure> {
    let secret: String
    do { secret = try credential.clientSecret(for: clientID, audience: endpoints.audience, now: clock.unixSeconds()) } catch {
      throw AppleTokenError(.notSigned, detail: error.description)
    }
    let all = [("client_id", clientID), ("client_secret", secret)] + fields
    var request = HTTPRequest(
      .post, url, headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
      body: Array(all.map { "\($0)=\(QueryEncoding.encode($1.utf8))" }.joined(separator: "&").utf8))
    request.deadline = deadline
    request.timeout = timeout
    request.maximumResponseSize = 1 << 20
    request.retry = RetryPolicy.never
    let response: HTTPResponse
    do { response = try await http.send(request) } catch {
      if error.code == .cancelled { throw AppleTokenError(.cancelled) }
      let mayPass = error.code == .connectFailed || (!servesOnce && [.connectionLost, .timeout].contains(error.code))
      return .failure(Failure(error: AppleTokenError(.unavailable, detail: "\(error.code)"), mayPass: mayPass))
    }
    return response.isSuccess ? .success(response.body) : .failure(Self.failure(response, servesOnce: servesOnce))
  }

  private static func failure(_ response: HTTPResponse, servesOnce: Bool) -> Failure {
    let word = (try? JSONParser.parse(response.body).object)?["error"]?.string
    if word == "invalid_grant" { return Failure(error: AppleTokenError(.invalidGrant), mayPass: false) }
    // An OAuth error code is a word; what is longer may hold anything and stays out of the log.
    let isWord = word.map { $0.utf8.count <= 40 && $0.utf8.allSatisfy { (0x61...0x7a).contains($0) || $0 == 0x5f } } ?? false
    let detail = "status \(response.status)" + (isWord ? " \(word ?? "")" : "")
    guard passingStatuses.contains(response.status) else {
      return Failure(error: AppleTokenError(.refused, detail: detail), mayPass: false)
    }
    // A refusal to serve now was no use of the code; an answer that broke on the way may have been one.
    let mayPass = !servesOnce || response.status == 429 || response.status == 503
    return Failure(error: AppleTokenError(.unavailable, detail: detail), mayPass: mayPass)
  }
}

public import EventLoop
public import Logging
public import OpenID

/// Tokens by workload identity federation: another provider's token is exchanged for Google's, and that one, where the
/// configuration says so, for an account's.
public final class FederatedIdentity: CloudTokenSource {
  private let source: any CloudTokenSource

  /// Tokens as `configuration` says.
  ///
  /// - Parameters:
  ///   - configuration: The places.
  ///   - timeout: How long each of the exchanges may take, with its repetitions.
  ///   - http: The way out.
  ///   - loop: Where exchanges run that are caused by callers on no loop.
  ///   - clock: What tells how much time a token has left.
  ///   - log: Who is told of failed attempts.
  ///   - files: Reads the file with the other provider's token.
  public init(
    _ configuration: CredentialConfiguration, timeout: Duration = .seconds(10), over http: any HTTPSending, on loop: EventLoop,
    clock: ProviderClock, log: Logger, files: @escaping FileReading
  ) {
    let exchange = TokenExchange(timeout: timeout, http: http, clock: clock, log: log)
    let federated = FederatedTokens(configuration, exchange, files: files)
    guard let url = configuration.impersonationURL else {
      source = federated
      return
    }
    let caller = MintCache(federated, minimumRemaining: .seconds(60), on: loop, clock: clock)
    source = Impersonation(
      at: url, lifetime: configuration.impersonationLifetime, as: caller, timeout: timeout, over: http, clock: clock, log: log)
  }

  /// Asks for a new token.
  public func mint(scope: String) async throws(MintError) -> CloudToken { try await source.mint(scope: scope) }
}

internal import EventLoop
internal import JSON
public import Logging
public import OpenID
internal import Outbound
internal import RPC

/// Tokens of the account that a machine of the cloud runs as, from the metadata server that only this machine can reach (Compute
/// Engine, Cloud Run, GKE).
///
/// No key is stored anywhere. The server speaks plain HTTP on a link of its own; requests to it never take a proxy, and an answer
/// without its mark is somebody else's. It remembers tokens by itself and may hand out one with a few minutes left.
public final class MetadataServer: CloudTokenSource {
  /// Its name inside the cloud.
  public static let defaultHost = "metadata.google.internal"

  private static let account = "/computeMetadata/v1/instance/service-accounts/default"

  private let base: String
  private let exchange: TokenExchange

  /// The server at `host` (with a port, where it is not 80).
  ///
  /// - Parameters:
  ///   - host: Where it is.
  ///   - timeout: How long all attempts may take together.
  ///   - http: The way out.
  ///   - clock: What tells how much time a token has left.
  ///   - log: Who is told of failed attempts.
  public init(
    host: String = defaultHost, timeout: Duration = .seconds(10), over http: any HTTPSending, clock: ProviderClock, log: Logger
  ) {
    base = "http://\(host)"
    exchange = TokenExchange(timeout: timeout, http: http, clock: clock, log: log)
  }

  /// Whether a metadata server may be at this host: its names, a link-local address, or this machine.
  public static func isHost(_ host: String) -> Bool {
    let name = host.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard name.count == 1 || UInt16(name[1]) != nil else { return false }
    if [defaultHost, "metadata", "localhost"].contains(String(name[0])) { return true }
    let parts = name[0].split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) else { return false }
    return parts[0] == "127" || (parts[0] == "169" && parts[1] == "254")
  }

  /// Asks for a token of the machine's account.
  public func mint(scope: String) async throws(MintError) -> CloudToken {
    let scopes = scope.split(separator: " ").map { QueryEncoding.encode($0.utf8) }.joined(separator: ",")
    return try await exchange.run(marked(TokenAnswer.read)) { () async throws(MintError) in
      self.request("/token?scopes=\(scopes)")
    }
  }

  /// The account that the machine runs as.
  public func accountName() async throws(MintError) -> ServiceAccountName {
    try await exchange.run(
      marked { response, _ in
        guard response.isSuccess else { return .failure(TokenAnswer.failure(response.status, nil)) }
        guard let name = response.text.flatMap({ ServiceAccountName(String($0.trimmed)) }) else {
          return .failure(.init(error: MintError(.malformed, detail: "no account name"), mayPass: false))
        }
        return .success(name)
      }
    ) { () async throws(MintError) in self.request("/email") }
  }

  private func request(_ path: String) -> HTTPRequest {
    var request = HTTPRequest(.get, base + Self.account + path, headers: ["Metadata-Flavor": "Google"])
    request.isLinkLocal = true
    return request
  }

  /// Only the metadata server says that it is one.
  private func marked<Value>(
    _ read: @escaping TokenExchange.Reading<Value>
  ) -> TokenExchange.Reading<Value> {
    { response, now in
      guard !response.isSuccess || response.headers["metadata-flavor"]?.lowercased() == "google" else {
        return .failure(.init(error: MintError(.malformed, detail: "it is no metadata server"), mayPass: false))
      }
      return read(response, now)
    }
  }
}

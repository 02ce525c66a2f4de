internal import JOSE
internal import JSON
internal import Outbound
internal import Synchronization

/// Fetches the key set document, by way of the discovery document where that is what is known.
final class KeyFetcher: Sendable {
  struct Failure: Error {
    let detail: String
  }

  struct Document {
    let keys: JWKSet
    let digest: [UInt8]
    let lifetime: Duration
  }

  private let source: KeySource
  private let http: any HTTPSending
  private let timeout: Duration
  /// Found once: a discovery document that changes takes a restart, so that nobody can move the keys while we run.
  private let discovered = Mutex<String?>(nil)

  init(_ source: KeySource, over http: any HTTPSending, timeout: Duration) {
    self.source = source
    self.http = http
    self.timeout = timeout
  }

  func fetch() async throws(Failure) -> Document {
    let response = try await get(try await keySetURL(), "key set")
    let keys: JWKSet
    do { keys = try JWKSet(parsing: response.body) } catch { throw Failure(detail: error.description) }
    guard !keys.isEmpty else { throw Failure(detail: "the key set has no usable key") }
    return Document(keys: keys, digest: SHA256.digest(response.body), lifetime: KeyLifetime.of(response.headers))
  }

  private func keySetURL() async throws(Failure) -> String {
    switch source {
    case .keySet(let url): return url
    case .discovery(let url, let issuer):
      if let known = discovered.withLock({ $0 }) { return known }
      let body = try await get(url, "discovery document").body
      guard let document = try? JSONParser.parse(body).object, let keys = document["jwks_uri"]?.string else {
        throw Failure(detail: "the discovery document names no jwks_uri")
      }
      // Another issuer's document would let another issuer's keys in (OpenID Connect Discovery 1.0, section 4.3).
      guard let named = document["issuer"]?.string, Array(named.utf8) == Array(issuer.utf8) else {
        throw Failure(detail: "the discovery document is another issuer's")
      }
      discovered.withLock { $0 = keys }
      return keys
    }
  }

  private func get(_ url: String, _ what: String) async throws(Failure) -> HTTPResponse {
    var request = HTTPRequest(.get, url, headers: ["Accept": "application/json"])
    request.timeout = timeout
    request.maximumResponseSize = 1 << 20
    request.retry = RetryPolicy(attempts: 2)
    let response: HTTPResponse
    do { response = try await http.send(request) } catch { throw Failure(detail: "\(what): \(error.code)") }
    guard response.status == 200 else { throw Failure(detail: "\(what): status \(response.status)") }
    return response
  }
}

internal import EventLoop
internal import JSON
internal import Logging
internal import OpenID
internal import Outbound
internal import RPC

/// Reads a file, off the loops.
public typealias FileReading = @Sendable (_ path: String) async throws -> [UInt8]

/// Exchanges a token of another identity provider for one of Google's (RFC 8693).
final class FederatedTokens: CloudTokenSource {
  /// The largest token, or document with one, that is read.
  private static let maximumSubjectSize = 64 << 10

  private let configuration: CredentialConfiguration
  private let exchange: TokenExchange
  private let files: FileReading

  init(_ configuration: CredentialConfiguration, _ exchange: TokenExchange, files: @escaping FileReading) {
    self.configuration = configuration
    self.exchange = exchange
    self.files = files
  }

  func mint(scope: String) async throws(MintError) -> CloudToken {
    try await exchange.run(TokenAnswer.read) { () async throws(MintError) in
      // Read each time: whoever provides it replaces it long before it expires.
      .form(self.configuration.tokenURL, self.form(try await self.subjectToken(), scope))
    }
  }

  private func form(_ subject: String, _ scope: String) -> String {
    [
      ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("audience", configuration.audience), ("scope", scope),
      ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"), ("subject_token", subject),
      ("subject_token_type", configuration.subjectTokenType),
    ].map { "\($0.0)=\(QueryEncoding.encode($0.1.utf8))" }.joined(separator: "&")
  }

  // MARK: The other provider's token

  private func subjectToken() async throws(MintError) -> String {
    switch configuration.subject {
    case .file(let path):
      let bytes: [UInt8]
      do { bytes = try await files(path) } catch { throw MintError(.unreachable, detail: "subject_token_file") }
      return try Self.token(in: bytes, configuration.subjectField).get()
    case .url(let url, let headers):
      let field = configuration.subjectField
      return try await exchange.run { response, _ in
        guard response.isSuccess else {
          return .failure(.init(error: MintError(.refused, detail: "subject_token status \(response.status)"), mayPass: false))
        }
        return Self.token(in: response.body, field).mapError { .init(error: $0, mayPass: false) }
      } request: { () async throws(MintError) in
        var request = HTTPRequest(.get, url)
        for header in headers { request.headers.add(header.name, header.value) }
        request.isLinkLocal = CredentialConfiguration.isLinkLocal(url)
        return request
      }
    }
  }

  private static func token(in bytes: [UInt8], _ field: String?) -> Result<String, MintError> {
    guard bytes.count <= maximumSubjectSize else { return .failure(MintError(.malformed, detail: "subject_token_too_large")) }
    let text = field.map { name in (try? JSONParser.parse(bytes))?[name]?.string } ?? String(decoding: bytes, as: UTF8.self)
    // A file may end its line.
    let token = text.map { String($0.filter { !$0.isWhitespace }) } ?? ""
    return token.isEmpty ? .failure(MintError(.malformed, detail: "no subject_token")) : .success(token)
  }
}

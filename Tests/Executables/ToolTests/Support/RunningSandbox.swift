import EventLoop
import Glibc
import HTTP2
import JOSE
import JSON
import Outbound
import TestSupport

@testable import parley_sandbox

/// A sandbox in this process, and a client that trusts it.
struct RunningSandbox {
  let sandbox: Sandbox
  let url: String
  let http: HTTPClient

  /// Runs `body` beside a fresh sandbox and stops everything afterwards.
  static func run(_ settings: GoogleSettings = .init(), _ body: (RunningSandbox) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "sandbox", blockingThreads: 1)
    defer { group.shutDown() }
    let authority = TestAuthority()
    let leaf = authority.server()
    let caFile = try ScratchFile(authority.certificate)
    let sandbox = try Sandbox(on: group, settings: settings)
    let tls = try TLSContext(
      .server(identity: .init(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(leaf.privateKey))))
    let ports = try sandbox.listen(tls: tls)
    var configuration = HTTPClientConfiguration()
    configuration.caFile = caFile.path
    configuration.circuit = nil
    let http = try HTTPClient(loops: group.loops, configuration: configuration)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(.init(sandbox: sandbox, url: "https://localhost:\(ports.tls)", http: http))) } catch {
      outcome = .failure(error)
    }
    await http.shutDown()
    await sandbox.drain()
    withExtendedLifetime(caFile) {}
    try outcome.get()
  }

  func get(_ path: String) async throws -> HTTPResponse { try await http.send(HTTPRequest(.get, url + path)) }

  func post(_ path: String, _ body: JSONObject) async throws -> HTTPResponse {
    try await http.send(
      HTTPRequest(.post, url + path, headers: ["Content-Type": "application/json"], body: JSONValue.object(body).encoded()))
  }

  func delete(_ path: String) async throws -> HTTPResponse { try await http.send(HTTPRequest(.delete, url + path)) }

  /// Asks the token endpoint, with fields whose values need no escapes.
  func token(_ fields: [(String, String)]) async throws -> HTTPResponse {
    let form = fields.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    return try await http.send(
      HTTPRequest(
        .post, url + "/google/token", headers: ["Content-Type": "application/x-www-form-urlencoded"], body: Array(form.utf8)))
  }

  /// An ID token of the sandbox.
  func idToken(_ wish: JSONObject) async throws -> String {
    let response = try await post("/sandbox/google/id-token", wish)
    return try JSONParser.parse(response.body)["token"]?.string ?? ""
  }

  /// The keys that the world sees.
  func keys() async throws -> JWKSet { try JWKSet(parsing: try await get("/google/certs").body) }
}

/// A file that is gone with its last user.
final class ScratchFile {
  let path: String

  init(_ bytes: [UInt8]) throws {
    var template = Array("/tmp/parley-tools-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let written = write(descriptor, bytes, bytes.count)
    close(descriptor)
    guard written == bytes.count else { throw ToolFailure(description: "cannot write \(path)") }
  }

  deinit { unlink(path) }
}

import EventLoop
import Glibc
import HTTP2
import JOSE
import JSON
import Outbound
import RPCServer
import TestSupport

@testable import parley_sandbox

/// A sandbox in this process, and a client that trusts it.
struct RunningSandbox {
  let sandbox: Sandbox
  let url: String
  /// What its certificate is checked with.
  let caFile: ScratchFile
  let http: HTTPClient
  private let group: EventLoopGroup
  private let tls: TLSContext

  /// Runs `body` beside a fresh sandbox and stops everything afterwards.
  static func run(_ settings: GoogleSettings = .init(), _ body: (RunningSandbox) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "sandbox", blockingThreads: 1)
    defer { group.shutDown() }
    let authority = TestAuthority()
    let leaf = authority.server()
    let caFile = try ScratchFile(authority.certificate)
    let sandbox = try Sandbox(on: group, settings: settings, caFile: caFile.path)
    let tls = try TLSContext(
      .server(identity: .init(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(leaf.privateKey))))
    let ports = try sandbox.listen(tls: tls)
    var configuration = HTTPClientConfiguration()
    configuration.caFile = caFile.path
    configuration.circuit = nil
    let http = try HTTPClient(loops: group.loops, configuration: configuration)
    let outcome: Result<Void, any Error>
    do {
      let running = RunningSandbox(
        sandbox: sandbox, url: "https://localhost:\(ports.tls)", caFile: caFile, http: http, group: group, tls: tls)
      outcome = .success(try await body(running))
    } catch { outcome = .failure(error) }
    await http.shutDown()
    await sandbox.drain()
    withExtendedLifetime(caFile) {}
    try outcome.get()
  }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await http.send(request) }

  /// Another server that the sandbox trusts, for what it posts.
  func serve(_ route: HTTPRoute) throws -> (server: RPCServer, url: String) {
    let server = RPCServer(on: group, services: [], http: [route])
    let address = try server.listen(on: .init(.ipv4([127, 0, 0, 1], port: 0)), tls: tls)
    return (server, "https://localhost:\(address.port ?? 0)")
  }

  func get(_ path: String, headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
    try await http.send(HTTPRequest(.get, url + path, headers: headers))
  }

  func post(_ path: String, _ body: JSONObject, bearer token: String? = nil) async throws -> HTTPResponse {
    var request = HTTPRequest(
      .post, url + path, headers: ["Content-Type": "application/json"], body: JSONValue.object(body).encoded())
    if let token { request.headers.add("Authorization", "Bearer \(token)") }
    return try await http.send(request)
  }

  func delete(_ path: String) async throws -> HTTPResponse { try await http.send(HTTPRequest(.delete, url + path)) }

  /// Asks the token endpoint, with fields whose values need no escapes.
  func token(_ fields: [(String, String)]) async throws -> HTTPResponse { try await form("/google/token", fields) }

  /// Posts a form, with fields whose values need no escapes.
  func form(_ path: String, _ fields: [(String, String)]) async throws -> HTTPResponse {
    let form = fields.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    return try await http.send(
      HTTPRequest(
        .post, url + path, headers: ["Content-Type": "application/x-www-form-urlencoded"], body: Array(form.utf8)))
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

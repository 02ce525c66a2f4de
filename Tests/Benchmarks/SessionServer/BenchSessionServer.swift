import EventLoop
import Glibc
import HTTP2
import JOSE
import JSON
import Logging
import OpenID
import Outbound
import ParleyProvider
import PostgreSQL
import RPC
import RPCServer
import ServiceKit
import Telemetry
import TestAPI
import Values

/// What `auth_session_check` measures: the echo of ``BenchServer``, to people with sessions only. Keys and revocations are held as in
/// every service; they come from this process, since none of them is fetched in a call.
@main struct BenchSessionServer {
  private static let service = "parley.testing.v1.EchoService"
  private static let issuer = "https://auth.bench"

  static func main() async throws {
    var options = ["--port": "0"]
    var arguments = CommandLine.arguments.dropFirst()
    while let name = arguments.popFirst(), let value = arguments.popFirst() { options[name] = value }
    guard let portFile = options["--port-file"], let tokenFile = options["--token-file"] else {
      fatalError("usage: --port-file FILE --token-file FILE [--port 0]")
    }
    let group = try EventLoopGroup(count: 1)
    let key = try SigningKey.generate(.es256, keyID: "bench-key-0000001")
    let revocations = SteadyFeed()
    let metrics = PrometheusRegistry()
    let sessions = SessionAuthenticator(
      SessionPolicy(issuer: issuer, audience: "parley"), keys: try await keys(key, group.loops[0]), revocations: revocations,
      loops: group.loops, clock: .system, metrics: metrics)
    try write(try token(key), to: tokenFile)

    let echo = MethodDescriptor<EchoRequest, EchoResponse>(service: service, name: "Echo", kind: .unary, access: .session)
    let routes = ServiceRoutes(
      ServiceDescriptor(name: service, methods: [echo.info]),
      [
        .unary(echo) { request, call in
          guard try call.caller.app == "default" else { throw RPCError(.permissionDenied, "another app's") }
          return EchoResponse(text: request.text, body: request.body, sequence: request.sequence)
        }
      ])
    let sink = LogSink()
    sink.gather(on: group.loops)
    let telemetry = TelemetryInterceptor(services: [routes.descriptor], metrics: metrics, log: AccessLog(sink, oneInOK: 1))
    let policy = try AccessPolicy(for: [routes.descriptor], guards: .sessions(sessions))
    var configuration = RPCServerConfiguration()
    configuration.maximumCallDuration = .seconds(60)
    let server = RPCServer(on: group, services: [routes], interceptors: [telemetry, policy], configuration: configuration)
    let address = try server.listen(on: SocketAddress("127.0.0.1:\(options["--port"] ?? "0")"))
    try write("\(address.port ?? 0)\n", to: portFile)
    while true {
      revocations.memory.isCurrent(asOf: .now())
      try await Task.sleep(for: .seconds(1))
    }
  }

  /// With the lengths that the auth service's own have.
  private static func token(_ key: SigningKey) throws -> String {
    let now = Int64(time(nil))
    return try key.sign(
      header: ["typ": "at+jwt"],
      claims: [
        "iss": .string(issuer), "aud": "parley", "sub": .string(UUID.v7().description), "sid": .string(UUID.v7().description),
        "app": "default", "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 86_400)),
        "auth_time": .number(JSONNumber(now)), "jti": .string(Base64URL.encode(SecureRandom.bytes(12))),
      ])
  }

  private static func keys(_ key: SigningKey, _ loop: EventLoop) async throws -> FetchedSessionKeys {
    let cache = JWKSCache(
      .keySet(url: "https://auth.bench/keys"), over: OneSet(document: JWKSet([key.publicKey]).encoded()), on: loop,
      clock: .system(on: loop), log: Logger(label: "bench"))
    try await cache.warmUp()
    return FetchedSessionKeys(cache)
  }

  private static func write(_ text: String, to path: String) throws {
    guard let file = fopen(path + ".new", "w") else { throw EventLoopError(.systemCall, "cannot write \(path)", errno: errno) }
    fputs(text, file)
    fclose(file)
    rename(path + ".new", path)
  }

  private struct OneSet: HTTPSending {
    let document: [UInt8]

    func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
      HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=86400"], body: document)
    }
  }

  private struct SteadyFeed: RevocationFeed {
    let memory = RevocationMemory(unixSeconds: { Int64(time(nil)) })
    var revision: UInt64? { memory.revision }
    func ending(of session: UUID) -> SessionEnding? { memory.ending(of: session) }
    func ask(_ session: UUID) async throws(RevocationsUnavailable) -> SessionEnding? { nil }
  }
}

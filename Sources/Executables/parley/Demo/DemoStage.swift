import ArgumentParser
import EventLoop
import HTTP2
import JSON
import Logging
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient

/// Open ways to all the places, for as long as the walkthrough takes.
struct DemoStage: Sendable {
  let places: DemoPlaces
  let outside: Outside
  let sandbox: SandboxControl
  /// One channel for each copy, without TLS.
  let copies: [ClientChannel]
  let encrypted: ClientChannel
  /// The onboarding service, without TLS.
  let onboarding: ClientChannel
  let database: Database
  /// Differs from run to run, so that no run meets the limits of another.
  let run: String
  /// The client address that direct calls come from, told as the edge would tell it: from a range for documentation
  /// (RFC 3849), a network of its own for each run.
  let address: String
  /// Another one, for whoever would use up the first one's limit.
  let crowdedAddress: String

  /// The broker of the first copy.
  var broker: TokenBrokerService.Client { .init(copies[0]) }

  /// An ID token of a person of this run; `changes` override what makes it a good one.
  func idToken(of person: String, _ changes: JSONObject = [:]) async throws -> String {
    var wish: JSONObject = [
      "aud": .string(places.audience), "sub": .string(subject(person)), "email": .string("\(person)@example.org"),
    ]
    for change in changes { wish[change.name] = change.value }
    return try await sandbox.idToken(wish)
  }

  /// The identifier of a person of this run.
  func subject(_ person: String) -> String { "demo-\(run)-\(person)" }

  /// How a direct call is made: the caller's token, its address (by default ``address``), and a deadline.
  func options(_ token: String, from other: String? = nil) -> CallOptions {
    CallOptions(
      metadata: ["authorization": "Bearer \(token)", "x-forwarded-for": other ?? address], deadline: .after(.seconds(10)))
  }

  /// A GET at the edge with a bearer token.
  func get(_ url: String, bearer token: String) async throws -> HTTPResponse {
    try await outside.http.send(HTTPRequest(.get, url, headers: ["Authorization": "Bearer \(token)"]))
  }

  /// Opens all ways, runs `body`, and closes them.
  static func open<Value: Sendable>(
    _ places: DemoPlaces, _ body: @escaping @Sendable (DemoStage) async throws -> Value
  ) async throws -> Value {
    let tls = try TLSContext(.client(trustRoots: .certificates(.file(places.caFile))))
    let copies = try places.copies.map(target)
    let encrypted = try target(places.grpcTLS)
    let onboarding = try target(places.onboarding)
    var configuration = try DatabaseConfiguration(places.database)
    configuration.poolSize = 1
    configuration.applicationName = "parley-demo"
    // The steps say themselves what does not work.
    var log = Logger(label: "parley.demo")
    log.logLevel = .critical
    let group = try EventLoopGroup(count: 1, name: "demo", blockingThreads: 2)
    defer { group.shutDown() }
    let outside = try Outside(on: group, caFile: places.caFile)
    let network = "2001:db8:\(String(UInt16.random(in: 1 ... .max), radix: 16))"
    let stage = DemoStage(
      places: places, outside: outside, sandbox: SandboxControl(url: places.sandbox, outside: outside),
      copies: copies.map { ClientChannel(to: $0, on: group) },
      encrypted: ClientChannel(to: encrypted, on: group, configuration: .init(tls: tls)),
      onboarding: ClientChannel(to: onboarding, on: group),
      database: try Database(configuration, group: group, log: log),
      run: String(UInt32.random(in: .min ... .max), radix: 16), address: "\(network):1::1",
      crowdedAddress: "\(network):2::1")
    return try await group.loops[0].run({ try await body(stage) }) {
      for channel in stage.copies + [stage.encrypted, stage.onboarding] { await channel.close() }
      await stage.database.shutDown()
      await outside.http.shutDown()
    }
  }

  private static func target(_ text: String) throws -> ChannelTarget {
    guard let target = ChannelTarget(text) else { throw ValidationError("'\(text)' is no target: give host:port.") }
    return target
  }
}

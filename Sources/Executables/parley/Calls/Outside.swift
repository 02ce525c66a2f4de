import EventLoop
import Outbound

/// Plain HTTP for as long as one command needs it.
struct Outside: Sendable {
  let http: HTTPClient

  /// A client that trusts the certificates in `caFile`, or those of the system.
  init(on group: EventLoopGroup, caFile: String?) throws {
    var configuration = HTTPClientConfiguration()
    configuration.caFile = caFile
    configuration.userAgent = "parley-cli"
    configuration.timeout = .seconds(15)
    http = try HTTPClient(loops: group.loops, configuration: configuration)
  }

  /// Runs `body` with a client and closes it.
  static func run<Value: Sendable>(
    caFile: String?, _ body: @escaping @Sendable (Outside) async throws -> Value
  ) async throws -> Value {
    let group = try EventLoopGroup(count: 1, name: "parley", blockingThreads: 1)
    defer { group.shutDown() }
    let outside = try Outside(on: group, caFile: caFile)
    return try await group.loops[0].run({ try await body(outside) }, finally: { await outside.http.shutDown() })
  }
}

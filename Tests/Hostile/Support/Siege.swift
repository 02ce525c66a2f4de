import EventLoop
import HTTP2
import RPC
import RPCServer
import TestAPI
import TestSupport
import Testing

/// A server under attack, with a probe beside the attackers on the one loop that serves all of them.
struct Siege: Sendable {
  /// The server.
  let server: EchoServer
  /// Handlers of `Echo` that stay until they are cancelled.
  let staying: Staying

  /// Attacks for as long as `body` runs. Then the probe must have been served throughout, the process must not have grown by more than
  /// `megabytes`, and the server must serve on.
  static func run(
    configuration: RPCServerConfiguration = .init(), megabytes: Int = 48, location: SourceLocation = #_sourceLocation,
    _ body: @Sendable (Siege) async throws -> Void
  ) async throws {
    let staying = Staying()
    let server = try EchoServer.start(handlers: EchoHandlers(beforeEcho: staying.stay), configuration: configuration)
    let result: Result<Void, any Error>
    do {
      let probe = try await Probe(to: server.address)
      do {
        try await body(Siege(server: server, staying: staying))
        result = .success(())
      } catch { result = .failure(error) }
      let report = try await probe.finish()
      report.check(location)
      let growth = (report.peakMemory - probe.memoryBefore) >> 20
      #expect(growth <= megabytes * Scale.memory, "the process grew by so many megabytes", sourceLocation: location)
      // Whoever was cut off has no handler left.
      try await server.connections.wait { $0 == 0 }
      try await staying.running.wait { $0 == 0 }
    } catch {
      try? await server.stop()
      throw error
    }
    try await server.stop()
    try result.get()
  }

  /// Attacks, and checks that each connection ended with `code` and `debug`.
  ///
  /// - Returns: How the connections ended.
  @discardableResult
  func attack(
    _ flood: Flood, endsWith code: UInt32 = 11, _ debug: String? = nil, for duration: Duration = .seconds(1),
    location: SourceLocation = #_sourceLocation
  ) async -> [Ending] {
    let endings = await Attacker.run(flood, against: server.address, for: duration)
    for ending in endings {
      #expect(ending.isClosed && ending.code == code && (debug == nil || ending.debug == debug), sourceLocation: location)
    }
    return endings
  }

  /// What the server's connections have lived through.
  func statistics() async -> HTTP2Statistics {
    await server.server.http2Statistics().reduce(HTTP2Statistics(), +)
  }
}

/// Handlers that stay until their call is cancelled, counted.
final class Staying: Sendable {
  /// How many run now.
  let running = Tally("staying handlers")
  /// How many have begun.
  let begun = Tally("staying handlers that have begun")
  private let gate: Gate?

  /// With a gate they ignore that they are cancelled, and stay until it opens.
  init(behind gate: Gate? = nil) { self.gate = gate }

  /// The text of the request that makes `Echo` stay.
  static let request: [UInt8] = [0x0a, 0x04] + Array("stay".utf8)

  /// Stays, when asked to.
  @Sendable func stay(_ request: EchoRequest, _ call: CallContext) async throws {
    guard request.text == "stay" else { return }
    begun.add()
    running.add()
    defer { running.add(-1) }
    if let gate { return await gate.pass() }
    try await EventLoop.current?.sleep(for: .seconds(600))
  }
}

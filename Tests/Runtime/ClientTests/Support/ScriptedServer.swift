import EventLoop
import HTTP2
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport

/// A server that answers the n-th request of a test by its n-th script, the last for all further ones, over whichever connections.
final class ScriptedServer: Sendable {
  /// What the server says on the stream of a request that has come whole.
  typealias Script = @Sendable (HTTP2Peer, UInt32) -> Void

  /// One request as it came.
  struct Request: Sendable {
    let headers: [(String, String)]
    let body: [UInt8]

    func value(_ name: String) -> String? { headers.first { $0.0 == name }?.1 }
  }

  private let record = Mutex<[Request]>([])
  /// Requests answered.
  let served = Tally("requests")
  private let scripts: [Script]

  init(_ scripts: [Script]) { self.scripts = scripts }

  /// The requests in the order in which they were answered.
  var requests: [Request] { record.withLock { $0 } }
  /// What `grpc-previous-rpc-attempts` said in each.
  var attempts: [String?] { requests.map { $0.value("grpc-previous-rpc-attempts") } }

  private func serve(_ peer: HTTP2Peer, _ settings: [(UInt16, UInt32)]) async throws {
    peer.send(.settings([(4, 1_000_000)] + settings))
    var answered: Set<UInt32> = []
    while !peer.isClosed {
      try await peer.wait("a request", within: .seconds(60)) {
        peer.isClosed || peer.streams.contains { $0.value.isOver && !answered.contains($0.key) }
      }
      for id in peer.streams.keys.sorted() where peer.streams[id]?.isOver == true && answered.insert(id).inserted {
        guard let exchange = peer.streams[id], exchange.resetCode == nil else { continue }
        let number = record.withLock { requests in
          requests.append(Request(headers: exchange.headers.first ?? [], body: exchange.body))
          return requests.count - 1
        }
        scripts[min(number, scripts.count - 1)](peer, id)
        served.add()
      }
    }
  }

  /// Serves for as long as `body` runs, on the loop of its channel.
  static func run(
    _ scripts: [Script], config: String = "{}", settings: [(UInt16, UInt32)] = [],
    configuration: ClientChannelConfiguration = .quick(),
    _ body: @escaping @Sendable (ScriptedServer, ClientChannel) async throws -> Void
  ) async throws {
    try await Fleet.run(0) { fleet in
      let scripted = ScriptedServer(scripts)
      let server = try RawServer(on: fleet.clients) { peer in try await scripted.serve(peer, settings) }
      var configuration = configuration
      configuration.serviceConfig = try ServiceConfig(json: config)
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients, configuration: configuration)
      let result: Result<Void, any Error>
      do { result = .success(try await body(scripted, channel)) } catch { result = .failure(error) }
      await channel.close()
      server.close()
      try result.get()
    }
  }

  // MARK: Scripts

  private static func headers(_ fields: [(String, String)] = []) -> [UInt8] {
    HPACK.block([(":status", "200"), ("content-type", "application/grpc")] + fields)
  }

  /// A status alone.
  static func fails(_ code: StatusCode, _ fields: (String, String)...) -> Script {
    { peer, id in peer.send(.headers(id, headers([("grpc-status", "\(code.rawValue)")] + fields), ends: true)) }
  }

  /// Headers, and then a status.
  static func failsLate(_ code: StatusCode) -> Script {
    { peer, id in
      peer.send(.headers(id, headers()), .headers(id, HPACK.block([("grpc-status", "\(code.rawValue)")]), ends: true))
    }
  }

  /// RST_STREAM.
  static func resets(_ code: UInt32) -> Script { { peer, id in peer.send(.reset(id, code)) } }

  /// The end of the connection.
  static let hangsUp: Script = { peer, _ in peer.close() }

  /// One response with the text `y`.
  static let answers: Script = { peer, id in
    peer.send(
      .headers(id, headers()), .data(id, HTTP2Peer.message([0x0a, 1, 0x79])),
      .headers(id, HPACK.block([("grpc-status", "0")]), ends: true))
  }
}

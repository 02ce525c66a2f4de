import ArgumentParser
import EventLoop
import ParleyAPI
import RPC
import RPCClient

/// A channel for as long as one command needs it.
struct Connection: Sendable {
  let channel: ClientChannel
  /// When the command stops waiting.
  let deadline: Deadline

  /// The token broker at the other end.
  var broker: TokenBrokerService.Client { .init(channel) }

  /// Options of a call in the name of a token's bearer.
  func options(bearer token: String) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(token)"], deadline: deadline)
  }

  /// Connects, runs `body`, and turns what the service answers into output and exit code.
  static func call(_ options: TargetOptions, _ body: @escaping @Sendable (Connection) async throws -> Void) async throws {
    let local = try LocalSettings.current()
    let target = try options.channelTarget(local)
    let configuration = ClientChannelConfiguration(tls: try options.tlsContext(local))
    let group = try EventLoopGroup(count: 1, name: "parley", blockingThreads: 1)
    defer { group.shutDown() }
    let channel = ClientChannel(to: target, on: group, configuration: configuration)
    let connection = Connection(channel: channel, deadline: .after(options.timeout.duration))
    do {
      try await group.loops[0].run({ try await body(connection) }, finally: { await channel.close() })
    } catch let error as RPCError {
      let report = ErrorReport(error: error)
      Console.note(options.json ? "\(report.json)" : report.text)
      throw report.exitCode
    }
  }
}

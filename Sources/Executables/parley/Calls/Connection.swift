import ArgumentParser
import DynamicMessages
import EventLoop
import ParleyAPI
import RPC
import RPCClient

/// Channels to one server for as long as one command needs them.
struct Connection: Sendable {
  /// The largest response that the command line takes, in bytes.
  static let maximumResponseBytes = 64 << 20

  /// Calls travel through it as the command line says.
  let channel: ClientChannel
  /// Asks the server what it serves.
  let reflection: ReflectionClient
  /// The loop that everything happens on, and its group.
  let loop: EventLoop
  let group: EventLoopGroup
  /// When the command stops waiting.
  let deadline: Deadline
  /// The same, but nil unless the command line asks for it: streams last as long as they last.
  let chosenDeadline: Deadline?

  /// The token broker at the other end.
  var broker: TokenBrokerService.Client { .init(channel) }

  /// Options of a call in the name of a token's bearer.
  func options(bearer token: String) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(token)"], deadline: deadline)
  }

  /// The same for methods of ADMIN access.
  static func call(
    asOperator options: TargetOptions, _ body: @escaping @Sendable (Connection) async throws -> Void
  ) async throws {
    try await call(try options.asOperator(.current()), nil, [:], body)
  }

  /// Runs `body` with a channel to another service, which is spoken to as the connection's own is.
  func with<Value>(
    _ target: ChannelTarget, _ options: TargetOptions, _ body: (ClientChannel) async throws -> Value
  ) async throws -> Value {
    var configuration = ClientChannelConfiguration(tls: try options.tlsContext(.current()))
    configuration.maximumResponseBytes = Self.maximumResponseBytes
    let other = ClientChannel(to: target, on: group, configuration: configuration)
    let outcome: Result<Value, any Error>
    do { outcome = .success(try await body(other)) } catch { outcome = .failure(error) }
    await other.close()
    return try outcome.get()
  }

  /// Connects, runs `body`, and turns what the service answers into output and exit code.
  ///
  /// - Parameters:
  ///   - wire: How calls travel; gRPC without it.
  ///   - metadata: What goes with questions about what the server serves.
  static func call(
    _ options: TargetOptions, _ wire: WireOptions? = nil, _ metadata: Metadata = [:],
    _ body: @escaping @Sendable (Connection) async throws -> Void
  ) async throws {
    let local = try LocalSettings.current()
    let target = try options.channelTarget(local)
    var plain = ClientChannelConfiguration(tls: try options.tlsContext(local))
    plain.maximumResponseBytes = maximumResponseBytes
    // Questions go in both directions at once, which gRPC-Web cannot, and in the form that every server has.
    if wire?.wireProtocol == .connect { plain.wire = .connect }
    let group = try EventLoopGroup(count: 1, name: "parley", blockingThreads: 1)
    defer { group.shutDown() }
    let channel = ClientChannel(to: target, on: group, configuration: wire?.applied(to: plain) ?? plain)
    let questions = ClientChannel(to: target, on: group, configuration: plain)
    let deadline = Deadline.after(options.timeout?.duration ?? TargetOptions.defaultTimeout)
    let connection = Connection(
      channel: channel, reflection: .init(channel: questions, options: .init(metadata: metadata, deadline: deadline)),
      loop: group.loops[0], group: group, deadline: deadline, chosenDeadline: options.timeout == nil ? nil : deadline)
    do {
      try await group.loops[0].run(
        { try await body(connection) },
        finally: {
          await channel.close()
          await questions.close()
        })
    } catch let error as RPCError {
      let report = ErrorReport(error: error)
      Console.note(options.json ? "\(report.json)" : report.text)
      throw report.exitCode
    }
  }
}

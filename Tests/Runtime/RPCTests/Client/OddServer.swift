import EventLoop
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// A server that answers as a test says, and a client that calls it: for what no proper server does.
struct OddServer: Sendable {
  /// What a server says on a stream whose request's headers have come.
  typealias Script = @Sendable (HTTP2Peer, UInt32) async throws -> Void

  /// Runs `body` with a client of a server that answers the n-th request by the n-th script, the last for all further ones.
  static func run(
    _ scripts: [Script], in configuration: ClientChannelConfiguration = .init(), whole: Bool = true,
    _ body: @escaping @Sendable (EchoService.Client, Tally) async throws -> Void
  ) async throws {
    let group = try EventLoopGroup(count: 1, name: "test")
    let servers = try EventLoopGroup(count: 1, name: "odd")
    defer {
      group.shutDown()
      servers.shutDown()
    }
    let resets = Tally("streams reset by the client")
    try await group.loops[0].perform {
      let served = Mutex(0)
      let server = try RawServer(on: servers) { peer in
        peer.send(.settings([(4, 1_000_000)]))
        var answered: Set<UInt32> = []
        var reset: Set<UInt32> = []
        while !peer.isClosed {
          let isDue = { @Sendable (id: UInt32) in whole ? peer.streams[id]?.isOver == true : peer.streams[id] != nil }
          try await peer.wait("a request", within: .seconds(30)) {
            peer.isClosed
              || peer.streams.contains { id, stream in
                !answered.contains(id) && isDue(id) || !reset.contains(id) && stream.resetCode != nil
              }
          }
          for (id, stream) in peer.streams where stream.resetCode != nil && reset.insert(id).inserted { resets.add() }
          for id in peer.streams.keys.sorted() where isDue(id) && answered.insert(id).inserted {
            let number = served.withLock { number in
              defer { number += 1 }
              return number
            }
            try await scripts[min(number, scripts.count - 1)](peer, id)
          }
        }
      }
      var configuration = configuration
      configuration.backoff.initial = .milliseconds(10)
      let channel = ClientChannel(to: .host("127.0.0.1", port: server.port), on: group, configuration: configuration)
      let result: Result<Void, any Error>
      do { result = .success(try await body(EchoService.Client(channel), resets)) } catch { result = .failure(error) }
      await channel.close()
      server.close()
      // Before its loop ends, which would leave the last of them open.
      try await server.serving.wait { $0 == 0 }
      try result.get()
    }
  }

  /// The status of a call to a server that answers by `script`, and the messages that came before it.
  static func stream(
    in configuration: ClientChannelConfiguration = .init(), _ script: @escaping Script
  ) async throws -> (numbers: [Int32], error: RPCError?) {
    let outcome = Mutex<(numbers: [Int32], error: RPCError?)>(([], nil))
    try await run([script], in: configuration) { client, _ in
      do {
        try await client.count(.init(to: 1), options: .timeout(.seconds(20))) { responses in
          for try await response in responses { outcome.withLock { $0.numbers.append(response.number) } }
        }
      } catch let error as RPCError {
        outcome.withLock { $0.error = error }
      }
    }
    return outcome.withLock { $0 }
  }

  /// The outcome of a unary call to a server that answers by `script`.
  static func unary(
    in configuration: ClientChannelConfiguration = .init(), options: CallOptions = .timeout(.seconds(20)),
    _ script: @escaping Script
  ) async throws -> Result<ClientResponse<EchoResponse>, RPCError> {
    let outcome = Mutex<Result<ClientResponse<EchoResponse>, RPCError>?>(nil)
    try await run([script], in: configuration) { client, _ in
      let result: Result<ClientResponse<EchoResponse>, RPCError>
      do throws(RPCError) {
        result = .success(try await client.channel.unary(EchoService.Methods.echo, .init(text: "x"), options))
      } catch {
        result = .failure(error)
      }
      outcome.withLock { $0 = result }
    }
    return try #require(outcome.withLock { $0 })
  }

  /// The headers of a response in a content type, as a block.
  static func headers(_ type: String, status: String = "200", _ fields: [(String, String)] = []) -> [UInt8] {
    HPACK.block([(":status", status), ("content-type", type)] + fields)
  }
}

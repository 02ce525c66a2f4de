import EventLoop
import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

/// What was used and closed does not stay in memory.
@Suite("Release of channels and servers")
struct ReleaseTests {
  /// Lives as long as whoever it was given to.
  private final class Canary: ClientInterceptor, ServerInterceptor {
    private let gone: Tally

    init(_ gone: Tally) { self.gone = gone }

    deinit { gone.add() }

    func intercept(
      _ method: MethodInfo, _ options: CallOptions, next: (CallOptions) async throws(RPCError) -> Void
    ) async throws(RPCError) { try await next(options) }

    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws { try await next(call) }
  }

  @Test("A channel that is closed is freed, although it has made calls")
  func channel() async throws {
    let gone = Tally("channels freed")
    try await EchoServer.run { server, clients in
      do {
        var configuration = ClientChannelConfiguration()
        configuration.interceptors = [Canary(gone)]
        let channel = try server.channel(on: clients, configuration: configuration)
        let client = EchoService.Client(channel)
        #expect(try await client.echo(.init(text: "hi")).text == "hi")
        #expect(try await client.sum { _ in }.count == 0)
        await channel.close()
      }
      try await gone.reaches(1)
    }
  }

  @Test("A server that has drained is freed, although it has answered calls")
  func server() async throws {
    let gone = Tally("servers freed")
    try await EchoServer.run(interceptors: [Canary(gone)]) { server, clients in
      let channel = try server.channel(on: clients)
      #expect(try await EchoService.Client(channel).echo(.init(text: "hi")).text == "hi")
      await channel.close()
    }
    try await gone.reaches(1)
  }
}

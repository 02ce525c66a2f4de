import EventLoop
import HTTP2
import RPC
import RPCClient
import RPCServer
import TestAPI
import TestSupport
import Testing

@Suite("A certificate that is renewed while connections are open")
struct CertificateRenewalTests {
  private static func context(_ authority: TestAuthority) throws -> TLSContext {
    let leaf = authority.server()
    return try TLSContext(
      .server(identity: .init(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(leaf.privateKey))))
  }

  private static func channel(_ authority: TestAuthority, _ address: SocketAddress, _ group: EventLoopGroup) throws
    -> ClientChannel
  {
    var configuration = ClientChannelConfiguration()
    configuration.tls = try TLSContext(.client(trustRoots: .certificates(.bytes(authority.certificate))))
    return ClientChannel(to: .host("127.0.0.1", port: try #require(address.port)), on: group, configuration: configuration)
  }

  @Test("New connections get the new certificate on every loop; open ones live on and end when they want to")
  func renewed() async throws {
    let (first, second) = (TestAuthority(commonName: "first"), TestAuthority(commonName: "second"))
    let (servers, clients) = (try EventLoopGroup(count: 2), try EventLoopGroup(count: 1))
    let server = RPCServer(on: servers, services: [EchoService.routes(EchoHandlers())])
    let source = TLSContextSource(try Self.context(first))
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"), renewing: source)
    let (old, new) = (try Self.channel(first, address, clients), try Self.channel(second, address, clients))
    // The second connection of each channel goes to the other loop.
    let more = try Self.channel(second, address, clients)
    let renewal = try Self.context(second)
    try await clients.loops[0].perform {
      let before = try await EchoService.Client(old).echo(.init(text: "before"))
      #expect(before.text == "before")
      let refused = await #expect(throws: RPCError.self) {
        try await EchoService.Client(new).echo(.init(text: "untrusted"), options: .init(waitsForReady: false))
      }
      #expect(refused?.code == .unavailable)
      source.replace(with: renewal)
      // Its connection is the one that it began with: a new one would not be trusted.
      let during = try await EchoService.Client(old).echo(.init(text: "during"))
      #expect(during.text == "during")
      for channel in [new, more] {
        let after = try await EchoService.Client(channel).echo(.init(text: "after"), options: .init(waitsForReady: true))
        #expect(after.text == "after")
      }
      for channel in [old, new, more] { await channel.close() }
    }
    await server.drain(within: .seconds(10))
    servers.shutDown()
    clients.shutDown()
  }
}

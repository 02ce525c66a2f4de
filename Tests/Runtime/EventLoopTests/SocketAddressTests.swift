import EventLoop
import TestSupport
import Testing

@Suite("Socket addresses")
struct SocketAddressTests {
  @Test(
    "An address is read and written the same",
    arguments: [
      "127.0.0.1:0", "0.0.0.0:65535", "[::1]:8080", "[::]:1", "[2001:db8::1]:443", "unix:/run/parley.sock", "unix:relative.sock",
    ])
  func good(_ text: String) throws { #expect(try SocketAddress(text).description == text) }

  @Test(
    "What is no address is refused",
    arguments: [
      "", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:1 ", "127.0.0.1:0x1",
      "localhost:80", "256.0.0.1:80", "1.2.3:80", "::1:80", "[::1]", "[127.0.0.1]:80", "[::1:80", "unix:", "127.0.0.1:8０",
      "unix:" + String(repeating: "x", count: 108), "unix:a\u{0}b", "[]:80",
    ])
  func bad(_ text: String) {
    let error = #expect(throws: EventLoopError.self) { try SocketAddress(text) }
    #expect(error?.code == .invalidAddress)
  }

  @Test("The host alone is what logs and limits use; a mapped IPv4 address is one of IPv4")
  func host() throws {
    #expect(try SocketAddress("10.1.2.3:4").host == "10.1.2.3")
    #expect(try SocketAddress("[2001:db8:0:0::1]:4").host == "2001:db8::1")
    #expect(try SocketAddress("[::ffff:10.1.2.3]:4").host == "10.1.2.3")
    #expect(try SocketAddress("unix:/x").host == "unix")
  }

  @Test("Loopback is what only this machine reaches")
  func loopback() throws {
    for text in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:/x"] {
      #expect(try SocketAddress(text).isLoopback)
    }
    for text in ["0.0.0.0:1", "128.0.0.1:1", "[::]:1", "[::2]:1", "[2001:db8::ffff:7f00:1]:1"] {
      #expect(try !SocketAddress(text).isLoopback)
    }
  }

  @Test("A name is looked up, an address is not, and what nobody knows is an error")
  func resolve() async throws {
    let pool = BlockingPool()
    let local = try await pool.run { try SocketAddress.resolve(host: "localhost", port: 7) }
    #expect(local.contains { $0.isLoopback && $0.port == 7 })
    #expect(try SocketAddress.resolve(host: "192.0.2.1", port: 9).map(\.description) == ["192.0.2.1:9"])
    let error = await #expect(throws: EventLoopError.self) {
      try await pool.run { try SocketAddress.resolve(host: "no.such.name.invalid", port: 1) }
    }
    #expect(error?.code == .unresolvableName)
    pool.shutDown()
  }
}

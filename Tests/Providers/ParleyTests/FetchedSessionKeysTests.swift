import EventLoop
import JOSE
import Logging
import OpenID
import Outbound
import ParleyProvider
import RPCClient
import ServiceKit
import Synchronization
import TestParley
import TestSupport
import Testing

@Suite("The auth service's keys, fetched")
struct FetchedSessionKeysTests {
  private final class Server: HTTPSending {
    let keys: Mutex<[SigningKey]>
    let isAway = Mutex(false)

    init(_ keys: [SigningKey]) { self.keys = Mutex(keys) }

    func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
      guard !isAway.withLock({ $0 }) else { return HTTPResponse(status: 503) }
      return HTTPResponse(
        status: 200, headers: ["Cache-Control": "public, max-age=300"],
        body: JWKSet(keys.withLock { $0 }.map(\.publicKey)).encoded())
    }
  }

  private static func with(
    _ server: Server, _ body: @escaping @Sendable (FetchedSessionKeys, JWKSCache, TestClock) async throws -> Void
  ) async throws {
    let group = try EventLoopGroup(count: 1, name: "test")
    let clock = TestClock()
    let cache = JWKSCache(
      .keySet(url: "https://auth.test/keys"), over: server, on: group.loops[0],
      clock: ProviderClock(
        now: { clock.monotonic }, unixSeconds: { clock.unixSeconds }, random: { 0.5 }, sleep: { _ in }),
      log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let result: Result<Void, any Error>
    do { result = .success(try await body(FetchedSessionKeys(cache), cache, clock)) } catch { result = .failure(error) }
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    try await pool.run { group.shutDown() }
    try result.get()
  }

  @Test("With the key set away for an hour tokens are still verified, and the alarm rises")
  func away() async throws {
    let key = try SigningKey.generate(.es256, keyID: "k1")
    let server = Server([key])
    try await Self.with(server) { keys, cache, clock in
      #expect(keys.generationAtHand == nil)
      let set = try await keys.current()
      #expect(keys.generationAtHand == set.generation && cache.staleness == .zero)
      server.isAway.withLock { $0 = true }
      clock.advance(by: .seconds(3600))
      #expect(keys.generationAtHand == nil)
      let stale = try await keys.current()
      #expect(stale.keys["k1"] != nil && stale.generation == set.generation)
      // Nobody waits for the next attempt before it is due.
      #expect(keys.generationAtHand == set.generation)
      #expect(cache.staleness == .seconds(3300) && cache.failuresInARow == 1)
      clock.advance(by: .seconds(31))
      _ = try await keys.current()
      #expect(cache.failuresInARow == 2)
      server.isAway.withLock { $0 = false }
      clock.advance(by: .seconds(31))
      _ = try await keys.current()
      #expect(cache.staleness == .zero && cache.failuresInARow == 0)
    }
  }

  @Test("After a day without the key set nobody is let in")
  func dayAway() async throws {
    let server = Server([try SigningKey.generate(.es256, keyID: "k1")])
    try await Self.with(server) { keys, _, clock in
      _ = try await keys.current()
      server.isAway.withLock { $0 = true }
      clock.advance(by: .seconds(86_399))
      _ = try await keys.current()
      clock.advance(by: .seconds(1))
      await #expect(throws: SessionKeysUnavailable.self) { try await keys.current() }
      #expect(keys.generationAtHand == nil)
    }
  }

  @Test("A token of an unknown key causes one fetch in 30 s")
  func newer() async throws {
    let (first, second) = (try SigningKey.generate(.es256, keyID: "k1"), try SigningKey.generate(.es256, keyID: "k2"))
    let server = Server([first])
    try await Self.with(server) { keys, cache, clock in
      let set = try await keys.current()
      clock.advance(by: .seconds(1))
      #expect(try await keys.newer(than: set) == nil && cache.fetchCount == 2)
      server.keys.withLock { $0 = [first, second] }
      #expect(try await keys.newer(than: set) == nil && cache.fetchCount == 2)
      clock.advance(by: .seconds(30))
      let newer = try #require(try await keys.newer(than: set))
      #expect(newer.keys["k2"] != nil && newer.generation != set.generation)
      // Whoever has the old set still gets the new one, without a fetch.
      #expect(try await keys.newer(than: set)?.generation == newer.generation && cache.fetchCount == 3)
    }
  }

  @Test(
    "An address of a service is a URL with a host and a port",
    arguments: [
      ("https://auth.internal:9443", "auth.internal:9443", true), ("http://127.0.0.1:80/", "127.0.0.1:80", false),
      ("https://[::1]:443", "[::1]:443", true),
    ])
  func address(text: String, target: String, isSecure: Bool) throws {
    let address = try #require(ServiceAddress(configurationText: text))
    #expect(address.target.description == target && address.isSecure == isSecure)
  }

  @Test(
    "What is no such URL is refused",
    arguments: [
      "", "auth:1", "https://auth", "https://auth:0", "https://auth:65536", "https://:1", "https://a/b:1", "https://a@b:1",
      "https://::1:443", "ftp://auth:1", "https://auth:1/path",
    ])
  func noAddress(text: String) { #expect(ServiceAddress(configurationText: text) == nil) }
}

import ClientCore
import EventLoop
import Foundation
import HTTP2
import ParleyAPI
import RPC
import RPCClient
import RPCServer
import TestSupport
import Testing

@Suite("A client of the token broker")
struct TokenBrokerClientTests {
  private let clock = SteppedClock()
  private let broker = ScriptedBroker()
  private let lines = LogLines()

  private func client(_ person: ScriptedPerson = ScriptedPerson("id-token"), store: (any TokenStore)? = nil) -> TokenBrokerClient
  {
    TokenBrokerClient(
      channel: broker.channel, idTokens: person, options: .init(store: store, log: lines.log, clock: clock))
  }

  @Test("B-30: a token serves until it has exactly five minutes left, each capability has its own")
  func buffer() async throws {
    let client = client()
    #expect(try await client.accessToken().value == "token-1")
    clock.advance(by: .seconds(3299))
    #expect(try await client.accessToken().value == "token-1")
    clock.advance(by: .seconds(1))
    #expect(try await client.accessToken().value == "token-2")
    #expect(try await client.accessToken(capability: "speech").value == "token-3")
    #expect(try await client.accessToken().value == "token-2")
    #expect(broker.exchanges.map(\.capability) == ["", "", "speech"])
    #expect(broker.exchanges.allSatisfy { $0.authorization == "Bearer id-token" })
  }

  @Test("B-30: how long a token serves is what the broker says, whatever that is")
  func shortLife() async throws {
    let client = client()
    broker.answer { number, _ in .init(accessToken: "token-\(number)", tokenType: "Bearer", expiresIn: 900) }
    #expect(try await client.accessToken().value == "token-1")
    clock.advance(by: .seconds(599))
    #expect(try await client.accessToken().value == "token-1")
    clock.advance(by: .seconds(1))
    #expect(try await client.accessToken().value == "token-2")
    #expect(broker.exchanges.count == 2)
  }

  @Test(
    "B-31: an ID token whose own exp has come is refreshed before it is sent", arguments: [(-1, true), (10, true), (11, false)])
  func expiredIDToken(left: Int, isRefreshed: Bool) async throws {
    let old = ScriptedPerson.jwt(until: clock.now().addingTimeInterval(Double(left)))
    let new = ScriptedPerson.jwt(until: clock.now().addingTimeInterval(3600))
    let person = ScriptedPerson(old, next: new)
    _ = try await client(person).accessToken()
    #expect(person.refreshes == (isRefreshed ? 1 : 0))
    #expect(broker.exchanges.map(\.authorization) == ["Bearer \(isRefreshed ? new : old)"])
  }

  @Test("B-31: an ID token that the broker does not accept is refreshed once and the call repeated once")
  func refusedIDToken() async throws {
    broker.answer { number, authorization in
      guard authorization == "Bearer new" else { throw RPCError(.unauthenticated, "invalid token") }
      return .init(accessToken: "token-\(number)", tokenType: "Bearer", expiresIn: 3600)
    }
    #expect(try await client(ScriptedPerson("old", next: "new")).accessToken().value == "token-2")
    let person = ScriptedPerson("old", next: "other")
    let error = await failure(TokenBrokerError.self) { _ = try await client(person).accessToken() }
    #expect(error?.code.rawValue == 401 && person.refreshes == 1)
    #expect(broker.exchanges.map(\.authorization) == ["Bearer old", "Bearer new", "Bearer old", "Bearer other"])
  }

  @Test("B-32: whoever is not signed in gets 401 and the broker hears nothing", arguments: [false, true])
  func notSignedIn(hadToken: Bool) async throws {
    let person = ScriptedPerson(hadToken ? ScriptedPerson.jwt(until: clock.now()) : nil)
    let error = await failure(TokenBrokerError.self) { _ = try await client(person).accessToken() }
    #expect(error?.code == .notSignedIn && error?.code.rawValue == 401)
    #expect(TokenBrokerError.domain == "TokenBroker" && (error as NSError?)?.domain == "TokenBroker")
    #expect((error as NSError?)?.code == 401)
    #expect(broker.exchanges.isEmpty)
  }

  @Test(
    "B-33: 429 says how many seconds to wait, 60 if the broker does not",
    arguments: [
      (RPCError(.resourceExhausted, "slow down", details: [.retryInfo(.seconds(7))]), 7),
      (RPCError(.resourceExhausted, "slow down", metadata: ["retry-after": "12"]), 12),
      (RPCError(.resourceExhausted, "slow down"), 60),
    ])
  func rateLimited(refusal: RPCError, seconds: Int) async throws {
    broker.answer { _, _ in throw refusal }
    let error = await failure(TokenBrokerError.self) { _ = try await client().accessToken() }
    #expect(error?.code == .rateLimited && error?.code.rawValue == 429)
    #expect(error?.retryAfter == .seconds(seconds))
    #expect(error?.message == "rate limited, retry after \(seconds) seconds")
  }

  @Test(
    "B-34: any other refusal carries the HTTP status that stands for it and the broker's text",
    arguments: [
      (RPCError(.invalidArgument, "no such capability"), 400), (RPCError(.unauthenticated, "invalid token"), 401),
      (RPCError(.permissionDenied, "wrong domain"), 403), (RPCError(.notFound, "no"), 404), (RPCError(.unimplemented, "no"), 405),
      (RPCError(.aborted, "no"), 409), (RPCError(.alreadyExists, "no"), 409), (RPCError(.internal, "token mint failed"), 500),
      (RPCError(.failedPrecondition, "pay", details: [Self.info("SUBSCRIPTION_REQUIRED")]), 402),
      (RPCError(.failedPrecondition, "stopped", details: [Self.info("CAPABILITY_STOPPED")]), 403),
      (RPCError(.unavailable, "no keys", details: [Self.info("KEYS_UNAVAILABLE")]), 503),
      (RPCError(.deadlineExceeded, "late", details: [Self.info("UPSTREAM")]), 504), (RPCError(.unavailable, "nobody there"), -1),
      (RPCError(.internal, ""), 500),
    ])
  func otherRefusals(refusal: RPCError, status: Int) async throws {
    broker.answer { _, _ in throw refusal }
    let error = await failure(TokenBrokerError.self) { _ = try await client().accessToken() }
    #expect(error?.code.rawValue == status)
    #expect(error?.message == (refusal.message.isEmpty ? "Unknown error" : refusal.message))
    #expect(error?.reason == refusal.reason)
  }

  private static func info(_ reason: String) -> ErrorDetail {
    .errorInfo(reason: reason, domain: "parley.broker.v1", metadata: [:])
  }

  @Test("B-30: while the broker is unavailable a token serves to its end, and not beyond it")
  func degradation() async throws {
    let client = client()
    _ = try await client.accessToken()
    broker.answer { _, _ in throw RPCError(.unavailable, "down") }
    clock.advance(by: .seconds(3599))
    #expect(try await client.accessToken().value == "token-1")
    // To be told to wait is an answer.
    broker.answer { _, _ in throw RPCError(.resourceExhausted, "slow down") }
    #expect(await failure(TokenBrokerError.self) { _ = try await client.accessToken() }?.code == .rateLimited)
    broker.answer { _, _ in throw RPCError(.unavailable, "down") }
    clock.advance(by: .seconds(1))
    #expect(await failure(TokenBrokerError.self) { _ = try await client.accessToken() }?.code == .noResponse)
    #expect(broker.exchanges.count == 4)
  }

  @Test("B-36: who am I tells what the broker reads, and nothing when that fails")
  func whoAmI() async throws {
    #expect(await client().whoAmI()?.email == "ana@example.org")
    #expect(await client(ScriptedPerson(nil)).whoAmI() == nil)
    #expect(broker.whoAmICalls == 1)
    #expect(await client(ScriptedPerson("forged")).whoAmI() == nil)
  }

  @Test("B-35: nothing of a cleared cache comes back, not even what was under way")
  func clear() async throws {
    let (arrived, leave) = (Signal(), Signal())
    let client = client()
    broker.answer { number, _ in
      arrived.fire()
      try await leave.wait()
      return .init(accessToken: "token-\(number)", tokenType: "Bearer", expiresIn: 3600)
    }
    async let lost = failure(TokenBrokerError.self) { _ = try await client.accessToken() }
    try await arrived.wait()
    await client.clear()
    leave.fire()
    #expect(await lost?.code == .notSignedIn)
    leave.fire()
    #expect(try await client.accessToken().value == "token-2")
    await client.clear()
    leave.fire()
    #expect(try await client.accessToken().value == "token-3")
  }

  @Test("B-37: tokens in a store outlive the client, and a sign-out removes them")
  func store() async throws {
    let store = MemoryTokenStore()
    #expect(try await client(store: store).accessToken(capability: "speech").value == "token-1")
    let again = client(store: store)
    #expect(try await again.accessToken(capability: "speech").value == "token-1")
    await again.clear()
    #expect(store.load("cloud-tokens") == nil)
    #expect(try await client(store: store).accessToken(capability: "speech").value == "token-2")
  }

  @Test("B-41: the log tells each step and never a token")
  func log() async throws {
    let client = client(ScriptedPerson("the-id-token"))
    _ = try await client.accessToken()
    _ = try await client.accessToken()
    await client.clear()
    #expect(
      lines.messages == [
        "requesting new access token", "access token cached (expires in 3600s)", "using cached access token",
        "access token cache cleared",
      ])
    #expect(lines.all.allSatisfy { $0.subsystem == "com.noisemeld.rapture" && $0.category == "TokenBroker" })
    #expect(!lines.messages.contains { $0.contains("token-1") || $0.contains("the-id-token") })
  }

  @Test("B-43: tasks that need a token at once share one call; one that gives up takes it from nobody")
  func singleFlight() async throws {
    let (arrived, leave) = (Signal(), Signal())
    broker.answer { number, _ in
      arrived.fire()
      try await leave.wait()
      return .init(accessToken: "token-\(number)", tokenType: "Bearer", expiresIn: 3600)
    }
    let client = client()
    let first = Task { try await client.accessToken().value }
    try await arrived.wait()
    let others = (0..<50).map { _ in Task { try await client.accessToken().value } }
    first.cancel()
    await #expect(throws: CancellationError.self) { _ = try await first.value }
    leave.fire()
    for other in others { #expect(try await other.value == "token-1") }
    #expect(broker.exchanges.count == 1)
  }

  @Test("B-42: the same client works over gRPC and, with a base URL of one's choice, over URLSession")
  func transports() async throws {
    let group = try EventLoopGroup(count: 1, name: "broker", blockingThreads: 1)
    defer { group.shutDown() }
    let server = RPCServer(on: group, services: [TokenBrokerService.routes(broker)])
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    let channel = ClientChannel(to: .host("127.0.0.1", port: address.port ?? 0), on: group, configuration: .init())
    let overGRPC = TokenBrokerClient(channel: channel, idTokens: ScriptedPerson("id-token"))
    let token = try? await overGRPC.accessToken()
    await channel.close()
    await server.drain(within: .seconds(1))
    #expect(token?.value == "token-1" && token?.authorization == "Bearer token-1")

    let web = try ScriptedServer { request, connection in
      guard request.headers["authorization"] == "Bearer id-token" else {
        return connection.respond(502, [], "bad gateway")
      }
      connection.respond(
        200, ["content-type: application/json"], #"{"accessToken":"token-web","tokenType":"Bearer","expiresIn":60}"#)
    }
    defer { web.close() }
    let overWeb = TokenBrokerClient(baseURL: web.url, idTokens: ScriptedPerson("id-token"))
    #expect(try await overWeb.accessToken().value == "token-web")
    #expect(web.requests.map(\.target) == ["/parley.broker.v1.TokenBrokerService/ExchangeToken"])
    let refused = TokenBrokerClient(baseURL: web.url, idTokens: ScriptedPerson("other"))
    let error = await failure(TokenBrokerError.self) { _ = try await refused.accessToken() }
    #expect(error?.code.rawValue == 502 && error?.message == "bad gateway")
    web.close()
    let alone = TokenBrokerClient(baseURL: URL(string: "http://127.0.0.1:1")!, idTokens: ScriptedPerson("id-token"))
    #expect(await failure(TokenBrokerError.self) { _ = try await alone.accessToken() }?.code == .noResponse)
  }
}

import EventLoop
import Foundation
import HTTP2
import ParleyAPI
import RPC
import RPCClient
import RPCInProcess
import RPCServer
import TestAPI
import TestSupport
import Testing

@testable import ClientCore

@Suite("Calls in the name of a session")
struct SessionChannelTests {
  private func client(_ device: Phone) -> AuthService.Client {
    AuthService.Client(SessionChannel(device.auth.channel, keeper: device.keeper))
  }

  private func authorizations(_ device: Phone, _ method: String) -> [String?] {
    device.auth.calls.filter { $0.method == method }.map(\.authorization)
  }

  @Test("B-46: a method that asks for a session gets the access token, any other one does not")
  func credentials() async throws {
    let device = Phone()
    let token = try await device.signIn()
    let client = client(device)
    #expect(try await client.getProfile().profile?.name == "Ana")
    _ = try await client.beginSignIn()
    #expect(authorizations(device, "GetProfile") == ["Bearer \(token)"])
    #expect(authorizations(device, "BeginSignIn") == [nil, nil])
    let own = await refusal { _ = try await client.getProfile(options: .init(metadata: ["authorization": "Bearer mine"])) }
    #expect(own?.reason == "INVALID_ACCESS_TOKEN")
    #expect(authorizations(device, "GetProfile").last == "Bearer mine")
    #expect(device.auth.refreshes.isEmpty)
  }

  @Test("Nobody being signed in, the call is not made")
  func notSignedIn() async {
    let device = Phone()
    #expect(await refusal { _ = try await client(device).getProfile() }?.reason == "NOT_SIGNED_IN")
    #expect(device.auth.calls.isEmpty)
  }

  @Test("B-46: a token that the server finds expired is refreshed once and the call repeated once", arguments: [false, true])
  func expired(isUnknown: Bool) async throws {
    let device = Phone()
    let old = try await device.signIn()
    // The server's clock is ahead, or its keys have changed.
    device.auth.change { state in
      if isUnknown { state.accessTokens[old] = nil } else { state.accessTokens[old]?.expiresAt = device.clock.now() }
    }
    #expect(try await client(device).getProfile().profile?.name == "Ana")
    let calls = authorizations(device, "GetProfile")
    #expect(calls.count == 2 && calls[0] == "Bearer \(old)" && calls[1] != calls[0])
    #expect(device.auth.refreshes.count == 1)
  }

  @Test("A call is repeated once and no more, and nobody is signed out by it")
  func expiredForEver() async throws {
    let device = Phone(lifetime: 0)
    try await device.signIn()
    #expect(await refusal { _ = try await client(device).getProfile() }?.reason == "ACCESS_TOKEN_EXPIRED")
    #expect(authorizations(device, "GetProfile").count == 2)
    #expect(try await device.keeper.sessionID() != nil)
  }

  @Test("Calls that are refused together share one refresh")
  func together() async throws {
    let device = Phone()
    let old = try await device.signIn()
    device.auth.change { $0.accessTokens[old]?.expiresAt = device.clock.now() }
    let client = client(device)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { _ = try await client.getProfile() } }
      try await group.waitForAll()
    }
    #expect(device.auth.refreshes.count == 1)
  }

  @Test("A call's deadline holds while its token is refreshed, and the refresh comes to its end")
  func deadline() async throws {
    let (arrived, leave) = (Signal(), Signal())
    let device = Phone()
    try await device.signIn()
    device.clock.advance(by: .seconds(301))
    device.auth.change {
      $0.hold = {
        arrived.fire()
        try await leave.wait()
      }
    }
    let error = await refusal { _ = try await client(device).getProfile(options: .timeout(.milliseconds(50))) }
    #expect(error?.code == .deadlineExceeded)
    try await arrived.wait()
    leave.fire()
    _ = try await device.keeper.accessToken()
    #expect(device.auth.refreshes.count == 1)
  }

  @Test("A stream gets the token as well; refused, it is not repeated, and the next one has a new token")
  func stream() async throws {
    let device = Phone()
    let old = try await device.signIn()
    device.auth.change { $0.accessTokens[old]?.expiresAt = device.clock.now() }
    let method = MethodDescriptor<GetProfileRequest, GetProfileResponse>(
      service: "parley.auth.v1.AuthService", name: "GetProfile", kind: .unary, access: .session)
    let channel = SessionChannel(device.auth.channel, keeper: device.keeper)
    func name() async throws -> String? {
      try await channel.stream(method, .init()) { call in
        try await call.send(.init())
        try await call.finishSending()
        var responses = call.responses
        return try await responses.next()?.profile?.name
      }
    }
    #expect(await refusal { _ = try await name() }?.reason == "ACCESS_TOKEN_EXPIRED")
    #expect(authorizations(device, "GetProfile") == ["Bearer \(old)"] && device.auth.refreshes.count == 1)
    #expect(try await name() == "Ana")
  }

  @Test("A session is kept over gRPC and over Connect alike", arguments: ["gRPC", "Connect"])
  func transports(wire: String) async throws {
    guard wire == "gRPC" || Edge.isInstalled else { return }
    let device = Phone()
    let group = try EventLoopGroup(count: 1, name: "auth", blockingThreads: 1)
    defer { group.shutDown() }
    let server = RPCServer(on: group, services: [AuthService.routes(device.auth)])
    let port = try server.listen(on: SocketAddress("127.0.0.1:0")).port ?? 0
    let grpc = ClientChannel(to: .host("127.0.0.1", port: port), on: group, configuration: .init())
    let edge = wire == "gRPC" ? nil : try Edge(inFrontOf: port)
    let outcome: Result<Void, any Error>
    do {
      let channel: any RPC.Channel = edge.map { ConnectJSONChannel(baseURL: $0.url) } ?? grpc
      try await use(channel, device)
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    edge?.stop()
    await grpc.close()
    await server.drain(within: .seconds(1))
    try outcome.get()
  }

  private func use(_ channel: any RPC.Channel, _ device: Phone) async throws {
    let keeper = SessionKeeper(channel: channel, store: device.store, options: .init(jitter: .zero, clock: device.clock))
    // The proxy may not listen yet.
    var challenge: BeginSignInResponse?
    let patience = Deadline.after(.seconds(30).withPatience)
    while challenge == nil, !patience.hasPassed { challenge = try? await keeper.beginSignIn(with: .google) }
    _ = try await keeper.signIn(google: "ana", nonce: try #require(challenge).nonce)
    let old = try await keeper.accessToken()
    device.auth.change { $0.accessTokens[old]?.expiresAt = device.clock.now() }
    let client = AuthService.Client(SessionChannel(channel, keeper: keeper))
    #expect(try await client.getProfile().profile?.name == "Ana")
    #expect(device.auth.refreshes.count == 1)
    let ends = await keeper.signOuts()
    device.auth.end("SESSION_REVOKED")
    #expect(await refusal { _ = try await client.getProfile() }?.reason == "SESSION_REVOKED")
    let end = try await within(.seconds(20)) {
      var iterator = ends.makeAsyncIterator()
      return await iterator.next()
    }
    #expect(end?.cause == .revoked)
  }
}

import Foundation
import ParleyAPI
import RPC
import RPCInProcess
import Synchronization
import TestSupport
import Testing

@testable import ClientCore

/// A device with somebody who signs in on it.
struct Phone {
  let clock: SteppedClock
  let auth: ScriptedAuth
  let store = MemoryTokenStore()
  let lines = LogLines()
  let keeper: SessionKeeper

  init(lifetime: Int64 = 300, jitter: Duration = .zero, attempts: Int = 3, steps: SignOutSteps = .init()) {
    clock = SteppedClock()
    auth = ScriptedAuth(clock: clock, lifetime: lifetime)
    keeper = SessionKeeper(
      channel: auth.channel, store: store,
      options: .init(jitter: jitter, attempts: attempts, steps: steps, log: lines.log, clock: clock))
  }

  /// Another process with the same store, or the same one after a restart.
  func another(attempts: Int = 3) -> SessionKeeper {
    SessionKeeper(channel: auth.channel, store: store, options: .init(jitter: .zero, attempts: attempts, clock: clock))
  }

  @discardableResult
  func signIn() async throws -> String {
    let challenge = try await keeper.beginSignIn(with: .google)
    _ = try await keeper.signIn(google: "id-token", nonce: challenge.nonce)
    return try await keeper.accessToken()
  }

  /// What the store holds under `name`.
  func stored(_ name: String) throws -> String? {
    guard let bytes = store.load("session") else { return nil }
    let json = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    return json?[name] as? String
  }
}

@Suite("A session that is kept")
struct SessionKeeperTests {
  @Test("B-44, B-47: a sign-in with Apple or Google takes the nonce along and leaves a session in the store")
  func signIn() async throws {
    let device = Phone()
    #expect(try await device.keeper.sessionID() == nil)
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.reason == "NOT_SIGNED_IN")
    #expect(device.auth.calls.isEmpty)
    let google = try await device.keeper.beginSignIn(with: .google)
    #expect(google.providerNonce.hasPrefix("provider-"))
    let ana = try await device.keeper.signIn(google: "ana", nonce: google.nonce)
    #expect(ana.profile.name == "ana" && ana.isNewAccount)
    let apple = try await device.keeper.beginSignIn(with: .apple)
    let ben = try await device.keeper.signIn(apple: "token", nonce: apple.nonce, fullName: .init(givenName: "Ben"))
    #expect(ben.profile.name == "Ben" && !ben.isNewAccount)
    #expect(await refusal { _ = try await device.keeper.signIn(google: "x", nonce: google.nonce) }?.reason == "NONCE_UNKNOWN")
    #expect(try await device.keeper.userID() == "user-1")
    let token = try await device.keeper.accessToken()
    #expect(try await device.another().accessToken() == token)
    #expect(!device.lines.messages.contains { $0.contains(token) })
  }

  @Test("B-46: an access token is replaced when it has 60 s left", arguments: [(239, 0), (240, 1)])
  func aheadOfTime(age: Int, refreshes: Int) async throws {
    let device = Phone()
    let token = try await device.signIn()
    device.clock.advance(by: .seconds(age))
    #expect(try await (device.keeper.accessToken() == token) == (refreshes == 0))
    #expect(device.auth.refreshes.count == refreshes)
  }

  @Test("B-46: a device refreshes up to the jitter earlier, and a token of a short life not before half of it")
  func jitter() async throws {
    let device = Phone(jitter: .seconds(100))
    let token = try await device.signIn()
    device.clock.advance(by: .seconds(140))
    // 60 s of margin and at most 100 s of jitter: not before 140 s.
    device.clock.advance(by: .milliseconds(-1))
    #expect(try await device.keeper.accessToken() == token)
    device.clock.advance(by: .seconds(101))
    #expect(try await device.keeper.accessToken() != token)
    let brief = Phone(lifetime: 40)
    let first = try await brief.signIn()
    brief.clock.advance(by: .seconds(19))
    #expect(try await brief.keeper.accessToken() == first)
    brief.clock.advance(by: .seconds(1))
    #expect(try await brief.keeper.accessToken() != first)
  }

  @Test("B-46: tasks that need a token at once share one refresh, which goes on when the one that began it gives up")
  func singleFlight() async throws {
    let (arrived, leave) = (Signal(), Signal())
    let device = Phone()
    try await device.signIn()
    device.clock.advance(by: .seconds(250))
    device.auth.change {
      $0.hold = {
        arrived.fire()
        try await leave.wait()
      }
    }
    let first = Task { try await device.keeper.accessToken() }
    try await arrived.wait()
    let others = (0..<50).map { _ in Task { try await device.keeper.accessToken() } }
    first.cancel()
    #expect(await refusal { _ = try await first.value }?.code == .cancelled)
    leave.fire()
    var tokens: Set<String> = []
    for other in others { tokens.insert(try await other.value) }
    #expect(tokens.count == 1 && device.auth.refreshes.count == 1)
  }

  @Test("B-46: a lost answer is asked for again by the same attempt, and the session goes on")
  func lostAnswer() async throws {
    let device = Phone()
    let token = try await device.signIn()
    device.clock.advance(by: .seconds(250))
    device.auth.change { $0.lostAnswers = 2 }
    #expect(try await device.keeper.accessToken() != token)
    let refreshes = device.auth.refreshes
    #expect(refreshes.count == 3 && Set(refreshes.map(\.token)).count == 1 && Set(refreshes.map(\.attempt)).count == 1)
    #expect((16...64).contains(refreshes[0].attempt.count))
    // The next exchange is another one.
    device.clock.advance(by: .seconds(250))
    _ = try await device.keeper.accessToken()
    #expect(
      device.auth.refreshes.last?.attempt != refreshes[0].attempt && device.auth.refreshes.last?.token != refreshes[0].token)
  }

  @Test("B-46: a process that ends between request and answer goes on with the attempt that it left in the store")
  func crash() async throws {
    let device = Phone(attempts: 1)
    try await device.signIn()
    device.clock.advance(by: .seconds(301))
    device.auth.change { $0.lostAnswers = 1 }
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.code == .unavailable)
    let attempt = try device.stored("attempt")
    #expect(attempt != nil && attempt == device.auth.refreshes.first?.attempt)
    // Long after any race.
    device.clock.advance(by: .seconds(3600))
    let token = try await device.another().accessToken()
    #expect(device.auth.refreshes.map(\.attempt) == [attempt, attempt])
    #expect(try device.stored("attempt") == nil && device.stored("access_token") == token)
    device.clock.advance(by: .seconds(300))
    _ = try await device.another().accessToken()
  }

  @Test("B-46: processes that share a store refresh at once and all stay signed in")
  func processes() async throws {
    let device = Phone()
    try await device.signIn()
    for _ in 0..<5 {
      device.clock.advance(by: .seconds(250))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          let keeper = device.another()
          group.addTask { _ = try await keeper.accessToken() }
        }
        try await group.waitForAll()
      }
    }
    #expect(Set(device.auth.refreshes.map(\.token)).count == 5)
    #expect(device.clock.slept.isEmpty)
    _ = try await device.keeper.accessToken()
  }

  @Test("REFRESH_RACED: what the faster one has stored is used without waiting")
  func racedAndStored() async throws {
    let device = Phone()
    try await device.signIn()
    let token = try #require(try device.stored("refresh_token"))
    device.clock.advance(by: .seconds(250))
    let won = try device.auth.exchange(token, "the attempt of another one")
    let (store, clock) = (device.store, device.clock)
    device.auth.change {
      $0.refusal = ScriptedAuth.refusal("REFRESH_RACED", .aborted, wait: .seconds(9))
    }
    // The faster one stores what it got while this one is refused.
    let document =
      #"{"session_id":"s2","user_id":"u","access_token":"\#(won.accessToken)","access_expires_at":\#(clock.now().timeIntervalSince1970 + 300),"refresh_at":\#(clock.now().timeIntervalSince1970 + 240),"refresh_token":"\#(won.refreshToken)"}"#
    let late = LateStore(store, afterFirstUpdate: Array(document.utf8))
    let keeper = SessionKeeper(channel: device.auth.channel, store: late, options: .init(jitter: .zero, clock: clock))
    #expect(try await keeper.accessToken() == won.accessToken)
    #expect(device.auth.refreshes.count == 1 && clock.slept.isEmpty)
  }

  @Test("REFRESH_RACED: when the faster one has lost its answer the race is waited out, and the session goes on")
  func racedAndLost() async throws {
    let device = Phone()
    try await device.signIn()
    let token = try #require(try device.stored("refresh_token"))
    device.clock.advance(by: .seconds(250))
    let lost = try device.auth.exchange(token, "the attempt of another one")
    let next = try await device.keeper.accessToken()
    #expect(next != lost.accessToken)
    #expect(device.auth.refreshes.count == 2 && Set(device.auth.refreshes.map(\.attempt)).count == 1)
    #expect(device.clock.slept.count == 1 && device.clock.slept[0] >= .seconds(10))
    #expect(try device.stored("access_token") == next)
  }

  @Test("A race that does not end is an error in the end, and the session stays")
  func endlessRace() async throws {
    let device = Phone()
    try await device.signIn()
    device.clock.advance(by: .seconds(301))
    device.auth.change { $0.refusal = ScriptedAuth.refusal("REFRESH_RACED", .aborted, wait: .seconds(60)) }
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.reason == "REFRESH_RACED")
    #expect(device.auth.refreshes.count == 6 && device.clock.slept.allSatisfy { $0 == .seconds(15) })
    device.auth.change { $0.refusal = nil }
    _ = try await device.keeper.accessToken()
  }

  @Test("While the server is unavailable a token serves to its end; then the error is told and the session stays")
  func unavailable() async throws {
    let device = Phone()
    let token = try await device.signIn()
    device.auth.change { $0.refusal = RPCError(.unavailable, "down") }
    device.clock.advance(by: .seconds(250))
    #expect(try await device.keeper.accessToken() == token)
    let tries = device.auth.refreshes.count
    #expect(tries == 3)
    // The next calls do not wait for it.
    #expect(try await device.keeper.accessToken() == token)
    #expect(device.auth.refreshes.count == tries)
    device.clock.advance(by: .seconds(60))
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.code == .unavailable)
    device.auth.change { $0.refusal = nil }
    #expect(try await device.keeper.accessToken() != token)
  }

  @Test(
    "A refusal that is not the service's word about the session signs nobody out",
    arguments: [
      RPCError(.unauthenticated, "who are you?"),
      RPCError(.unauthenticated, "x", details: [.errorInfo(reason: "SESSION_REVOKED", domain: "proxy.example", metadata: [:])]),
      ScriptedAuth.refusal("SESSION_REVOKED", .unavailable), ScriptedAuth.refusal("LIMITER_UNAVAILABLE", .unavailable),
      ScriptedAuth.refusal("RATE_LIMITED_IP", .resourceExhausted),
    ])
  func otherRefusals(_ error: RPCError) async throws {
    let device = Phone()
    try await device.signIn()
    device.clock.advance(by: .seconds(301))
    device.auth.change { $0.refusal = error }
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.code == error.code)
    device.auth.change { $0.refusal = nil }
    _ = try await device.keeper.accessToken()
  }
}

/// A store in which another process writes behind the first change.
private final class LateStore: TokenStore {
  private let store: MemoryTokenStore
  private let late: Mutex<[UInt8]?>

  init(_ store: MemoryTokenStore, afterFirstUpdate bytes: [UInt8]) {
    self.store = store
    late = Mutex(bytes)
  }

  func load(_ name: String) async throws -> [UInt8]? { store.load(name) }
  func save(_ bytes: [UInt8], as name: String) async throws { store.save(bytes, as: name) }
  func remove(_ name: String) async throws { store.remove(name) }

  func update(_ name: String, _ change: @escaping @Sendable ([UInt8]?) throws -> [UInt8]?) async throws -> [UInt8]? {
    let result = try store.update(name, change)
    let bytes = late.withLock { late in
      defer { late = nil }
      return late
    }
    if let bytes { store.save(bytes, as: name) }
    return result
  }
}

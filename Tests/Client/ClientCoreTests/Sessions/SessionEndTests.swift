import Foundation
import ParleyAPI
import RPC
import Synchronization
import TestSupport
import Testing

@testable import ClientCore

/// What an app did when its session ended.
private final class Deeds: Sendable {
  private let deeds = Mutex<[String]>([])
  var all: [String] { deeds.withLock { $0 } }
  func add(_ deed: String) { deeds.withLock { $0.append(deed) } }

  var steps: SignOutSteps {
    SignOutSteps(
      signOutOfProvider: { self.add("provider") }, clearCaches: { self.add("caches") }, showOnboarding: { self.add("onboarding") }
    )
  }
}

@Suite("How a session ends")
struct SessionEndTests {
  private let deeds = Deeds()

  /// The next sign-out that is told.
  private func next(_ stream: AsyncStream<SignedOut>) async throws -> SignedOut? {
    try await within(.seconds(20)) {
      var iterator = stream.makeAsyncIterator()
      return await iterator.next()
    }
  }

  @Test("B-35: sign-out goes to the provider, the server, the caches and the app's beginning, in this order")
  func signOut() async throws {
    let device = Phone(steps: deeds.steps)
    let token = try await device.signIn()
    let ends = await device.keeper.signOuts()
    #expect(await device.keeper.signOut())
    #expect(deeds.all == ["provider", "caches", "onboarding"])
    #expect(device.auth.calls.last?.method == "SignOut" && device.auth.calls.last?.authorization == "Bearer \(token)")
    #expect(device.store.load("session") == nil)
    #expect(try await next(ends) == SignedOut(cause: .signedOut, sessionID: "s2", isKnownToServer: true))
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.reason == "NOT_SIGNED_IN")
  }

  @Test("B-35: the broker's tokens are gone when the app is back at its beginning")
  func brokerCache() async throws {
    let broker = ScriptedBroker()
    let tokens = TokenBrokerClient(channel: broker.channel, idTokens: ScriptedPerson("id-token"))
    let device = Phone(steps: SignOutSteps(clearCaches: { await tokens.clear() }))
    try await device.signIn()
    _ = try await tokens.accessToken()
    await device.keeper.signOut()
    #expect(try await tokens.accessToken().value == "token-2")
  }

  @Test("A sign-out without a network happens all the same, and says that the server does not know")
  func signOutAlone() async throws {
    let device = Phone(attempts: 1, steps: deeds.steps)
    try await device.signIn()
    device.clock.advance(by: .seconds(301))
    device.auth.change { $0.refusal = RPCError(.unavailable, "down") }
    let ends = await device.keeper.signOuts()
    #expect(await !device.keeper.signOut())
    #expect(try await next(ends)?.isKnownToServer == false)
    #expect(device.store.load("session") == nil && deeds.all == ["provider", "caches", "onboarding"])
  }

  @Test("A sign-out of a session that has ended at the server already takes the steps once")
  func signOutTooLate() async throws {
    let device = Phone(steps: deeds.steps)
    try await device.signIn()
    device.auth.end("SESSION_REVOKED")
    #expect(await device.keeper.signOut())
    #expect(deeds.all == ["provider", "caches", "onboarding"])
    device.auth.change { $0.sessions = [:] }
    try await device.signIn()
    device.clock.advance(by: .seconds(301))
    device.auth.end("SESSION_REVOKED")
    #expect(await device.keeper.signOut())
    #expect(deeds.all.count == 6)
  }

  @Test("A refresh that is under way does not bring back a session that was signed out")
  func signOutDuringRefresh() async throws {
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
    async let token = refusal { _ = try await device.keeper.accessToken() }
    try await arrived.wait()
    // Another process signs out: the entry is gone.
    device.store.remove("session")
    leave.fire()
    #expect(await token?.reason == "NOT_SIGNED_IN")
    #expect(device.store.load("session") == nil)
    #expect(try await device.keeper.sessionID() == nil)
  }

  static let causes: [(String, SignedOut.Cause)] = [
    ("SESSION_SIGNED_OUT", .signedOut), ("SESSION_REVOKED", .revoked), ("REFRESH_REUSED", .refreshReused),
    ("SESSION_EXPIRED", .expired), ("SESSION_REVOKED_BY_OPERATOR", .revokedByOperator), ("ACCOUNT_DELETED", .accountDeleted),
    ("ACCOUNT_SUSPENDED", .accountSuspended), ("CONSENT_REVOKED", .consentRevoked),
  ]

  @Test(
    "A refresh that is refused because the session has ended signs out and tells why",
    arguments: causes + [("INVALID_REFRESH_TOKEN", .unknownToken), ("SOMETHING_NEW", .other("SOMETHING_NEW"))])
  func endedByRefresh(reason: String, cause: SignedOut.Cause) async throws {
    let device = Phone(steps: deeds.steps)
    try await device.signIn()
    let ends = await device.keeper.signOuts()
    device.clock.advance(by: .seconds(250))
    device.auth.end(reason)
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.reason == reason)
    #expect(try await next(ends) == SignedOut(cause: cause, sessionID: "s2", isKnownToServer: true))
    #expect(device.store.load("session") == nil && deeds.all == ["provider", "caches", "onboarding"])
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.reason == "NOT_SIGNED_IN")
  }

  @Test("A call that is refused because the session has ended signs out and tells why", arguments: causes)
  func endedByCall(reason: String, cause: SignedOut.Cause) async throws {
    let device = Phone(steps: deeds.steps)
    try await device.signIn()
    let ends = await device.keeper.signOuts()
    device.auth.end(reason)
    let client = AuthService.Client(SessionChannel(device.auth.channel, keeper: device.keeper))
    #expect(await refusal { _ = try await client.getProfile() }?.reason == reason)
    #expect(try await next(ends) == SignedOut(cause: cause, sessionID: "s2", isKnownToServer: true))
    #expect(device.store.load("session") == nil && deeds.all == ["provider", "caches", "onboarding"])
    #expect(device.auth.refreshes.isEmpty)
  }

  @Test("A refresh token that a thief has used twice ends the session on this device, with the cause")
  func stolen() async throws {
    let device = Phone()
    try await device.signIn()
    let copied = try #require(try device.stored("refresh_token"))
    let stolen = try device.auth.exchange(copied, "the thief's attempt")
    _ = try device.auth.exchange(stolen.refreshToken, "the thief's next one")
    let ends = await device.keeper.signOuts()
    device.clock.advance(by: .seconds(250))
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.reason == "REFRESH_REUSED")
    #expect(try await next(ends)?.cause == .refreshReused)
  }

  @Test("Whoever was signed out can sign in again, and every reader hears of the next end")
  func again() async throws {
    let device = Phone()
    try await device.signIn()
    let (first, second) = (await device.keeper.signOuts(), await device.keeper.signOuts())
    device.auth.end("SESSION_REVOKED")
    device.clock.advance(by: .seconds(301))
    _ = await refusal { _ = try await device.keeper.accessToken() }
    try await device.signIn()
    await device.keeper.signOut()
    for stream in [first, second] {
      let causes = try await within(.seconds(20)) {
        var causes: [SignedOut.Cause] = []
        for await end in stream {
          causes.append(end.cause)
          if causes.count == 2 { break }
        }
        return causes
      }
      #expect(causes == [.revoked, .signedOut])
    }
  }

  @Test("AUTH-B2: every cause of a logout says what has happened and what to do about it; a suspension alone bars the way back")
  func advice() {
    let causes = Self.causes.map(\.1) + [.unknownToken, .other("SOMETHING_NEW")]
    for cause in causes {
      #expect(cause.text.hasSuffix(".") && cause.advice.hasSuffix(".") && cause.text != cause.advice, "\(cause)")
      #expect(cause.canSignInAgain == cause.advice.contains("ign in again") || cause == .accountSuspended, "\(cause)")
      #expect(cause.canSignInAgain != (cause == .accountSuspended))
    }
    // What a person must tell apart is told apart.
    let told = Self.causes.map(\.1.text)
    #expect(Set(told).count == told.count)
    #expect(SignedOut.Cause.refreshReused.advice.contains("devices"))
    for cause in [SignedOut.Cause.accountSuspended, .revokedByOperator] { #expect(cause.advice.contains("support")) }
  }
}

import AppleProvider
import AuthDomain
import EventLoop
import GoogleProvider
import JSON
import OpenID
import Testing
import Values

@testable import AuthAPI

@Suite("Identities of both providers")
struct SignInAdapterTests {
  private static func google(_ fixture: GoogleFixture, _ group: EventLoopGroup, audiences: [String] = [FakeGoogle.clientID])
    -> GoogleSignIn
  {
    let policy = GoogleIDTokenPolicy(audiences: audiences, maximumAge: .seconds(600), requiresSubject: true)
    return GoogleSignIn(
      verifier: GoogleIDTokenVerifier(policy, keys: fixture.keys, loops: group.loops, clock: fixture.clock.google))
  }

  @Test("B-05: a Google token becomes an identity: subject, address, given name, nonce, times")
  func googleIdentity() async throws {
    try await withLoops { group in
      let adapter = Self.google(GoogleFixture(group), group)
      let token = FakeGoogle.token(changes: [("nonce", "n-1"), ("given_name", "Ana Maria"), ("name", "Ana Maria Silva")])
      let now = Instant(seconds: FakeGoogle.now)
      let identity = try await adapter.verify(token)
      #expect(
        identity
          == VerifiedIdentity(
            provider: .google, subject: "ana", audience: FakeGoogle.clientID, email: "ana@example.org", emailIsVerified: true,
            name: "Ana Maria", nonce: "n-1", issuedAt: now, expiresAt: now.advanced(by: .seconds(3600))))
      let bare = try await adapter.verify(FakeGoogle.token(changes: [("email", nil), ("email_verified", nil), ("name", nil)]))
      #expect(bare.email == nil && !bare.emailIsVerified && bare.name == nil && bare.nonce == nil && bare.supportsNonce)
    }
  }

  @Test("An Apple token becomes an identity: a relay address, a nonce that the platform could not carry, no name")
  func appleIdentity() async throws {
    try await withLoops { group in
      let adapter = AppleSignIn(verifier: AppleFixture(group).verifier)
      let token = FakeApple.token(changes: [
        ("email", "x@privaterelay.appleid.com"), ("is_private_email", "true"), ("nonce", nil), ("nonce_supported", false),
        ("name", "Mallory"),
      ])
      let now = Instant(seconds: FakeGoogle.now)
      let identity = try await adapter.verify(token)
      #expect(
        identity
          == VerifiedIdentity(
            provider: .apple, subject: "000000.0123456789abcdef0123456789abcdef.0000", audience: FakeApple.bundleID,
            email: "x@privaterelay.appleid.com", emailIsVerified: true, emailIsPrivate: true, supportsNonce: false,
            issuedAt: now, expiresAt: now.advanced(by: .seconds(86_400))))
    }
  }

  @Test("A refusal keeps its reason; keys that cannot be had are unavailable and no judgement")
  func failures() async throws {
    try await withLoops { group in
      let (google, apple) = (GoogleFixture(group), AppleFixture(group))
      let adapters: [(any IdentityVerifying, String)] = [
        (Self.google(google, group), FakeGoogle.token(changes: [("aud", "stranger")])),
        (AppleSignIn(verifier: apple.verifier), FakeApple.token(changes: [("aud", "stranger")])),
      ]
      for (adapter, token) in adapters {
        await #expect(throws: PortFailure(.rejected, reason: "audience_mismatch")) { try await adapter.verify(token) }
      }
      google.google.set { $0.keySetFault = .status(500) }
      apple.apple.set { $0.keyStatus = 500 }
      for (adapter, token) in [(adapters[0].0, FakeGoogle.token()), (adapters[1].0, FakeApple.token())] {
        let failure = await #expect(throws: PortFailure.self) { try await adapter.verify(token) }
        #expect(failure?.kind == .unavailable && failure?.reason.contains("status 500") == true)
      }
    }
  }

  @Test("AUTH-S1: each app judges by its own audiences")
  func tenants() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let one = Self.google(fixture, group, audiences: ["one"])
      let two = Self.google(fixture, group, audiences: ["two"])
      let token = FakeGoogle.token(changes: [("aud", "one")])
      let identity = try await one.verify(token)
      #expect(identity.audience == "one")
      await #expect(throws: PortFailure(.rejected, reason: "audience_mismatch")) { try await two.verify(token) }
      #expect(fixture.google.keyFetches == 1)
    }
  }
}

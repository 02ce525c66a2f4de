import EventLoop
import GoogleProvider
import Logging
import OpenID
import TestSupport

/// The provider in front of a fake Google, on a virtual clock.
struct GoogleFixture: Sendable {
  let google = FakeGoogle()
  let clock = VirtualClock()
  let log = CapturedLog()
  let keys: JWKSCache
  let verifier: GoogleIDTokenVerifier
  let loop: EventLoop

  init(
    _ group: EventLoopGroup, source: KeySource = .google, skew: Duration = .seconds(60),
    audiences: [String] = [FakeGoogle.clientID, "ios"]
  ) {
    loop = group.loops[0]
    keys = JWKSCache(source, over: google, on: loop, clock: clock.google, log: log.logger)
    verifier = GoogleIDTokenVerifier(
      GoogleIDTokenPolicy(audiences: audiences, clockSkew: skew), keys: keys, loops: group.loops, clock: clock.google)
  }

  func minter(_ timeout: Duration = .seconds(10)) throws -> ServiceAccountMinter {
    ServiceAccountMinter(
      try ServiceAccountKey(json: FakeGoogle.serviceAccount()), timeout: timeout, over: google, clock: clock.google,
      log: log.logger)
  }

  func cache() throws -> MintCache { MintCache(try minter(), on: loop, clock: clock.google) }

  /// `accepted`, or the reason of the refusal.
  func verdict(_ token: String) async -> String {
    do throws(IDTokenError) {
      _ = try await verifier.verify(token)
      return "accepted"
    } catch {
      return error.code == .rejected ? error.reason : error.code.description
    }
  }
}

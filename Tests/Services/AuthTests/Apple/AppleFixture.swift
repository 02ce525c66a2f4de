import AppleProvider
import CoreMetrics
import EventLoop
import Logging
import OpenID
import Telemetry
import TestSupport

/// The provider in front of a fake Apple, on a virtual clock.
struct AppleFixture: Sendable {
  let apple = FakeApple()
  let clock = VirtualClock()
  let log = CapturedLog()
  let metrics = PrometheusRegistry()
  let keys: JWKSCache
  let verifier: AppleIdentityTokenVerifier
  let notifications: AppleNotificationVerifier

  init(
    _ group: EventLoopGroup, maximumAge: Duration? = .seconds(600), audiences: [String] = [FakeApple.bundleID, "org.example.web"]
  ) {
    keys = JWKSCache(
      .apple, over: apple, on: group.loops[0], clock: clock.google, log: log.logger, named: "apple", metrics: metrics)
    let policy = AppleIdentityTokenPolicy(audiences: audiences, maximumAge: maximumAge)
    verifier = AppleIdentityTokenVerifier(policy, keys: keys, loops: group.loops, clock: clock.google)
    var patient = policy
    patient.maximumAge = nil
    notifications = AppleNotificationVerifier(patient, keys: keys, loops: group.loops, clock: clock.google)
  }

  /// `accepted`, or the reason of the refusal.
  func verdict(_ token: String) async -> String {
    do throws(IDTokenError) {
      _ = try await verifier.verify(token)
      return "accepted"
    } catch {
      return error.code == .rejected ? error.reason : error.code.description
    }
  }

  /// The line of the exposition that begins so, its value.
  func metric(_ name: String) -> String? {
    String(decoding: metrics.exposition(), as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
      .flatMap { $0.split(separator: " ").last.map(String.init) }
  }
}

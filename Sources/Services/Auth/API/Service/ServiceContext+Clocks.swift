internal import AuthDomain
internal import EventLoop
internal import OpenID
internal import ServiceKit
internal import Values

extension ServiceContext {
  /// The time of day, as the domain counts it.
  var now: @Sendable () -> Instant {
    { [clock] in Instant(seconds: 0).advanced(by: clock.now()) }
  }

  /// Time and chance for providers, by the service's clock.
  var providerClock: ProviderClock {
    var provider = ProviderClock.system(on: loops.loops[0]) { [clock] in clock.unixSeconds }
    provider.now = clock.monotonic
    return provider
  }
}

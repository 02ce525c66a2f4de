internal import AuthDomain
internal import EventLoop
internal import OpenID
internal import ServiceKit

extension ServiceContext {
  /// The time of day, as the domain counts it.
  var now: @Sendable () -> Moment {
    { [clock] in Moment(seconds: 0).advanced(by: clock.now()) }
  }

  /// Time and chance for providers, with the service's time of day.
  var providerClock: ProviderClock {
    .system(on: loops.loops[0]) { [clock] in clock.unixSeconds }
  }
}

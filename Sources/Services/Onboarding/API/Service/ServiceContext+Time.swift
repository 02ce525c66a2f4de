internal import ServiceKit
internal import Values

extension ServiceContext {
  /// The time of day, as the database writes it.
  var now: @Sendable () -> Instant {
    { [clock] in Instant(clock) }
  }
}

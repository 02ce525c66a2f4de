internal import PostgreSQL
internal import ServiceKit

extension ServiceContext {
  /// The time of day, as the database writes it.
  var now: @Sendable () -> Timestamp {
    { [clock] in Timestamp(clock) }
  }
}

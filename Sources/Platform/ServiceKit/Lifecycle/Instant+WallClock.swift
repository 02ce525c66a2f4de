internal import PostgreSQL
public import Values

extension Instant {
  /// The time that a clock tells, to the microsecond, as the database writes it.
  public init(_ clock: WallClock) { self = Instant(microseconds: 0).advanced(by: clock.now()) }
}

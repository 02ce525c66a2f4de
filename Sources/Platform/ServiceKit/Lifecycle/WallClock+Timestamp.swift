public import PostgreSQL

extension Timestamp {
  /// The time that a clock tells, to the microsecond, as the database writes it.
  public init(_ clock: WallClock) { self = Timestamp(microseconds: 0).advanced(by: clock.now()) }
}

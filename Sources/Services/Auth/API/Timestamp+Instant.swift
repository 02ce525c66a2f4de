internal import AuthDomain
internal import Values
internal import WellKnown

extension GoogleProtobuf.Timestamp {
  /// The moment in the form of the API.
  init(_ moment: Instant) {
    self.init(seconds: moment.seconds, nanos: Int32((moment.microseconds - moment.seconds * 1_000_000) * 1000))
  }
}

internal import AuthDomain
internal import PostgreSQL

extension Timestamp {
  init(_ moment: Moment) { self.init(microseconds: moment.microseconds) }
}

extension Moment {
  init(_ timestamp: Timestamp) { self.init(microseconds: timestamp.microseconds) }
}

internal import Telemetry

/// A request as the broker sees it, whatever it came over.
struct BrokerRequest: Sendable {
  /// The values of all `authorization` fields.
  var authorization: [String]
  /// The client's address, for the audit.
  var address: String
  /// What the client's address is limited under.
  var addressKey: String
  /// The capability asked for; nil or empty for the default one.
  var capability: String?
  /// The request's id, as in the log.
  var requestID: String
  /// Takes what is to stand in the request's line of the access log.
  var note: @Sendable (CallNotes) -> Void
}

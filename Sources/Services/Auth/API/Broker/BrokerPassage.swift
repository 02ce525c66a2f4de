internal import AuthDomain

/// What is known of a request by the time it has passed some steps.
struct BrokerPassage: Sendable {
  let request: BrokerRequest
  var bearer = ""
  var caller: CallerIdentity?
  var subject: SubjectHash?
  var capability: Capability?
  var token: AccessToken?
  /// The person's limit, where its token is yet to be taken.
  var limit: PersonLimit?
  /// Whether the ledger has a line of it already.
  var isOnRecord = false

  init(_ request: BrokerRequest) { self.request = request }
}

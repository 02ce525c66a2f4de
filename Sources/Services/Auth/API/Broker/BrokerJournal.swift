internal import AuthDomain
internal import Logging
internal import Telemetry

/// Tells metrics, and the request's line of the access log, how it ended: the distinct reason, which no caller learns, and never a token.
struct BrokerJournal: Sendable {
  private let log: Logger
  private let served: [BrokerOperation: PrometheusCounter]
  private let refused: [Refusal.Kind: PrometheusCounter]
  private let lost: PrometheusCounter

  init(_ log: Logger, _ metrics: PrometheusRegistry) {
    self.log = log
    served = Dictionary(
      uniqueKeysWithValues: BrokerOperation.allCases.map {
        (
          $0,
          metrics.counter(
            "parley_broker_served_total", help: "Requests that the broker has served.", labels: [("operation", $0.rawValue)])
        )
      })
    refused = Dictionary(
      uniqueKeysWithValues: Refusal.Kind.allCases.map {
        (
          $0,
          metrics.counter(
            "parley_broker_refused_total", help: "Requests that the broker has refused.", labels: [("reason", $0.reason)])
        )
      })
    lost = AuditMetrics.failures(metrics, of: "issuance")
  }

  func end(_ operation: BrokerOperation, _ passage: BrokerPassage, refusal: Refusal?) {
    if let refusal { refused[refusal.kind]?.increment() } else { served[operation]?.increment() }
    if refusal?.kind == .auditUnavailable { lost.increment() }
    var notes = CallNotes()
    notes.add("outcome", refusal?.kind.reason ?? "OK")
    notes.add("detail", refusal?.detail)
    notes.add("client_id", passage.caller?.audience)
    notes.add("subject", passage.subject?.description)
    notes.add("capability", passage.capability?.name)
    notes.needsAttention = needsAttention(refusal)
    passage.request.note(notes)
  }

  func lostDenial(_ refusal: Refusal, _ error: String) {
    lost.increment()
    log.error(
      "a refusal is missing from the audit", metadata: ["outcome": .string(refusal.kind.reason), "cause": .string(error)])
  }

  /// What an operator must look at is louder than what a caller did wrong.
  private func needsAttention(_ refusal: Refusal?) -> Bool {
    switch refusal?.kind {
    case .mintFailed, .keysUnavailable, .limiterUnavailable, .auditUnavailable: true
    default: false
    }
  }
}

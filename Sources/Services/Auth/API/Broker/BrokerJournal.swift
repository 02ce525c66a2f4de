internal import AuthDomain
internal import EventLoop
internal import Logging
internal import Telemetry

/// Tells log and metrics how each request ended: the distinct reason, which no caller learns, and never a token.
struct BrokerJournal: Sendable {
  struct Entry: Sendable {
    let operation: BrokerOperation
    let start: MonotonicInstant
  }

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

  func begin(_ operation: BrokerOperation) -> Entry { Entry(operation: operation, start: .now()) }

  func end(_ entry: Entry, _ passage: BrokerPassage, refusal: Refusal?) {
    if let refusal { refused[refusal.kind]?.increment() } else { served[entry.operation]?.increment() }
    if refusal?.kind == .auditUnavailable { lost.increment() }
    let microseconds = MonotonicInstant.now().duration(since: entry.start).saturatingNanoseconds / 1000
    var fields: Logger.Metadata = [
      "operation": .string(entry.operation.rawValue), "client": .string(passage.request.address),
      "outcome": .string(refusal?.kind.reason ?? "OK"), "took_us": .stringConvertible(microseconds),
    ]
    if let refusal { fields["detail"] = .string(refusal.detail) }
    if let audience = passage.caller?.audience { fields["client_id"] = .string(audience) }
    if let subject = passage.subject { fields["subject"] = .string(subject.description) }
    if let capability = passage.capability { fields["capability"] = .string(capability.name) }
    log.log(level: level(refusal), "broker", metadata: fields)
  }

  func lostDenial(_ refusal: Refusal, _ error: String) {
    lost.increment()
    log.error(
      "a refusal is missing from the audit", metadata: ["outcome": .string(refusal.kind.reason), "cause": .string(error)])
  }

  /// What an operator must look at is louder than what a caller did wrong.
  private func level(_ refusal: Refusal?) -> Logger.Level {
    switch refusal?.kind {
    case .mintFailed, .keysUnavailable, .limiterUnavailable, .auditUnavailable: .error
    default: .info
    }
  }
}

internal import AuthDomain
internal import EventLoop
internal import Logging
internal import RPC
internal import Telemetry

/// Tells log and metrics how calls ended: the distinct reason, which no caller learns, and never a token.
struct AccountJournal: Sendable {
  private let log: Logger
  private let refused: [AccountRefusal.Kind: PrometheusCounter]
  private let ended: [SessionEnd: PrometheusCounter]
  private let lost: PrometheusCounter

  init(_ log: Logger, _ metrics: PrometheusRegistry) {
    self.log = log
    refused = Dictionary(
      uniqueKeysWithValues: AccountRefusal.Kind.allCases.map {
        (
          $0,
          metrics.counter(
            "parley_account_refused_total", help: "Calls about sign-in, sessions and accounts that were refused.",
            labels: [("kind", "\($0)")])
        )
      })
    ended = Dictionary(
      uniqueKeysWithValues: SessionEnd.allCases.map {
        (
          $0,
          metrics.counter(
            "parley_session_ends_total", help: "Sessions that this copy of the service has ended, by their cause.",
            labels: [("cause", $0.rawValue)])
        )
      })
    lost = AuditMetrics.failures(metrics, of: "activity")
  }

  func done(_ operation: String, _ client: AccountClient, since start: MonotonicInstant) {
    let microseconds = MonotonicInstant.now().duration(since: start).saturatingNanoseconds / 1000
    log.info(
      "account",
      metadata: [
        "operation": .string(operation), "client": .string(client.address), "request_id": .string(client.requestID),
        "outcome": "OK", "took_us": .stringConvertible(microseconds),
      ])
  }

  func refused(_ refusal: AccountRefusal, _ operation: String, _ client: AccountClient, since start: MonotonicInstant) {
    refused[refusal.kind]?.increment()
    let microseconds = MonotonicInstant.now().duration(since: start).saturatingNanoseconds / 1000
    log.log(
      level: refusal.kind.code == .unavailable ? .error : .info, "account",
      metadata: [
        "operation": .string(operation), "client": .string(client.address), "request_id": .string(client.requestID),
        "outcome": .string(refusal.kind.reason), "detail": .string(refusal.detail), "took_us": .stringConvertible(microseconds),
      ])
  }

  /// Counts sessions where they end: each is ended by one copy, once.
  func sessionsEnded(_ count: Int, _ cause: SessionEnd) { ended[cause]?.increment(by: Int64(count)) }

  func notNoted(_ error: String) {
    lost.increment()
    log.error("a refusal is missing from the account's activity", metadata: ["cause": .string(error)])
  }
}

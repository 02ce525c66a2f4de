internal import AuthDomain
internal import Logging
internal import RPC
internal import Telemetry

/// Tells metrics, and the line of each call in the access log, how it ended: the distinct reason, which no caller learns, and never a token.
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

  /// Counts a refusal, and says what the call's line of the access log is to tell of it.
  func refused(_ refusal: AccountRefusal) -> CallNotes {
    refused[refusal.kind]?.increment()
    var notes = CallNotes()
    notes.add("outcome", refusal.kind.reason)
    notes.add("detail", refusal.detail)
    notes.needsAttention = refusal.kind.code == .unavailable
    return notes
  }

  /// Counts sessions where they end: each is ended by one copy, once.
  func sessionsEnded(_ count: Int, _ cause: SessionEnd) { ended[cause]?.increment(by: Int64(count)) }

  func notNoted(_ error: String) {
    lost.increment()
    log.error("a refusal is missing from the account's activity", metadata: ["cause": .string(error)])
  }
}

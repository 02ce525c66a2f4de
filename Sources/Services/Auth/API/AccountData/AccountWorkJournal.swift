internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Logging
internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import Telemetry
internal import Values

/// Tells log and metrics how exports and deletions go.
final class AccountWorkJournal: Sendable {
  private let log: Logger
  private let metrics: PrometheusRegistry
  private let overdue: [AccountWork.Kind: PrometheusGauge]

  init(_ log: Logger, _ metrics: PrometheusRegistry) {
    self.log = log
    self.metrics = metrics
    let gauges = AccountWork.Kind.allCases.map { kind in
      let gauge = metrics.gauge(
        "parley_account_work_overdue",
        help: "Exports and deletions that are not done though they were asked for longer ago than ACCOUNT_WORK_OVERDUE_AFTER.",
        labels: [("kind", kind.rawValue)])
      gauge.set(0)
      return (kind, gauge)
    }
    overdue = Dictionary(uniqueKeysWithValues: gauges)
  }

  func step(_ attempt: AccountWorkStore.Attempt, _ kind: AccountWork.Kind, _ outcome: String) {
    metrics.counter(
      "parley_account_work_steps_total", help: "Attempts at the parts of exports and deletions.",
      labels: [("kind", kind.rawValue), ("step", attempt.step.rawValue), ("outcome", outcome)]
    ).increment()
  }

  func failed(_ attempt: AccountWorkStore.Attempt, _ kind: AccountWork.Kind, _ word: String, _ error: any Error) {
    step(attempt, kind, "failed")
    log.warning(
      "part of an account's \(kind.rawValue) failed",
      metadata: [
        "work": .string("\(attempt.work)"), "step": .string(attempt.step.rawValue), "attempt": .stringConvertible(attempt.number),
        "detail": .string(word), "cause": .string("\(error)"),
      ])
  }

  func ended(_ work: AccountWork, _ outcome: String, at now: Instant) {
    metrics.counter(
      "parley_account_work_ended_total", help: "Exports and deletions that have come to their end.",
      labels: [("kind", work.kind.rawValue), ("outcome", outcome)]
    ).increment()
    log.notice(
      "an account's \(work.kind.rawValue) has ended",
      metadata: [
        "work": .string("\(work.id)"), "outcome": .string(outcome),
        "took_s": .stringConvertible(now.duration(since: work.createdAt).components.seconds),
      ])
  }

  func overdue(_ counts: [AccountWork.Kind: Int]) {
    for (kind, gauge) in overdue { gauge.set(counts[kind] ?? 0) }
  }

  /// Why a part failed, in a word that people may see.
  static func word(for error: any Error) -> String {
    switch error {
    case is StillHeld: "still_held"
    case is NotConfigured: "not_configured"
    case is ExportWriter.Malformed: "malformed"
    default: ErrorMap.rpcError(for: error).map { $0.code.name.lowercased() } ?? "internal"
    }
  }
}

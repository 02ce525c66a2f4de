internal import AuthDomain
internal import EventLoop
internal import Logging
internal import Metrics
internal import RPC

/// Tells log and metrics how calls ended: the distinct reason, which no caller learns, and never a token.
struct AccountJournal: Sendable {
  private let log: Logger
  private let refused: [AccountRefusal.Kind: Counter]
  private let ended: [SessionEnd: Counter]

  init(_ log: Logger) {
    self.log = log
    refused = Dictionary(
      uniqueKeysWithValues: AccountRefusal.Kind.allCases.map {
        ($0, Counter(label: "parley_account_refused_total", dimensions: [("kind", "\($0)")]))
      })
    ended = Dictionary(
      uniqueKeysWithValues: SessionEnd.allCases.map {
        ($0, Counter(label: "parley_sessions_ended_total", dimensions: [("cause", $0.rawValue)]))
      })
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

  func sessionsEnded(_ count: Int, _ cause: SessionEnd) { ended[cause]?.increment(by: Int64(count)) }

  func notNoted(_ error: String) {
    log.error("a refusal is missing from the account's activity", metadata: ["cause": .string(error)])
  }
}

import JSON
import Synchronization

/// What services would have paid for: each piece of work that was done, by what was worked on and by who asked.
///
/// A test reads here whether a crash made somebody pay twice.
final class PaidEffects: Sendable {
  /// A kind of work.
  enum Kind: String, Sendable, CaseIterable {
    case transcriptions, chats, voices
  }

  /// The work of one kind.
  struct Ledger: Sendable, Equatable {
    private(set) var paid = 0
    private(set) var byContent: [String: Int] = [:]
    private(set) var byRequestID: [String: Int] = [:]

    /// How many payments went beyond the first for their content.
    var paidTwice: Int { paid - byContent.count }

    mutating func pay(_ content: String, _ requestID: String?) {
      paid += 1
      byContent[content, default: 0] += 1
      if let requestID { byRequestID[requestID, default: 0] += 1 }
    }

    var json: JSONObject {
      func numbers(_ counts: [String: Int]) -> JSONValue {
        .object(JSONObject(counts.sorted { $0.key < $1.key }.map { ($0.key, .number(JSONNumber($0.value))) }))
      }
      return [
        "paid": .number(JSONNumber(paid)), "paidTwice": .number(JSONNumber(paidTwice)), "byContent": numbers(byContent),
        "byRequestId": numbers(byRequestID),
      ]
    }
  }

  private let ledgers = Mutex<[Kind: Ledger]>([:])

  /// The work of one kind.
  subscript(kind: Kind) -> Ledger { ledgers.withLock { $0[kind] ?? Ledger() } }

  /// Takes note of work that was done.
  ///
  /// - Parameters:
  ///   - kind: What was done.
  ///   - content: The hash of what it was done to.
  ///   - requestID: The caller's own id of the request.
  func pay(_ kind: Kind, _ content: String, _ requestID: String?) {
    ledgers.withLock { $0[kind, default: Ledger()].pay(content, requestID) }
  }

  /// Begins again from zero.
  func reset() { ledgers.withLock { $0 = [:] } }
}

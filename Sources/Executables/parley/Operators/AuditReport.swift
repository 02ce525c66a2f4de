import JSON
import ParleyAPI

/// Entries of the audit, for people and for programs.
enum AuditReport {
  static let heading = ["AT", "ACTION", "OUTCOME", "REASON", "ACTOR", "WHO", "WHAT", "ADDRESS", "NOTE"]

  static func row(_ entry: AuditEntry) -> [String] {
    [
      entry.at.map(SessionReport.text) ?? "", entry.action, entry.outcome, entry.reason, entry.actor,
      entry.userID.isEmpty ? entry.subjectHash : entry.userID, entry.sessionID ?? entry.capability, entry.clientAddress,
      entry.note,
    ].map(Printable.text)
  }

  /// The same without columns, where nobody knows how wide the next ones are.
  static func line(_ entry: AuditEntry) -> String { row(entry).filter { !$0.isEmpty }.joined(separator: "  ") }

  static func json(_ entry: AuditEntry) -> JSONValue {
    var object: JSONObject = ["id": .string(entry.id)]
    object["at"] = entry.at.map { .string(SessionReport.text($0)) }
    object["kind"] = .string(kind(entry.kind))
    for (name, value) in [
      ("action", entry.action), ("outcome", entry.outcome), ("reason", entry.reason), ("actor", entry.actor),
      ("user_id", entry.userID), ("subject_hash", entry.subjectHash), ("session_id", entry.sessionID ?? ""), ("app", entry.app),
      ("capability", entry.capability), ("note", entry.note), ("client_address", entry.clientAddress),
      ("request_id", entry.requestID),
    ] where !value.isEmpty { object[name] = .string(value) }
    return .object(object)
  }

  private static func kind(_ kind: AuditKind) -> String {
    switch kind {
    case .activity: "activity"
    case .issuance: "issuance"
    case .killSwitch: "kill_switch"
    case .unspecified, .unrecognized: "unknown"
    }
  }
}

import JSON
import ParleyAPI

/// Accounts as operators see them, for people and for programs.
enum UserReport {
  static let heading = ["ID", "APP", "PROVIDER", "NAME", "E-MAIL", "MADE", "SESSIONS", "LAST USED", "SUSPENDED"]

  static func row(_ user: User) -> [String] {
    let profile = user.profile ?? .init()
    return [
      profile.userID, profile.app, SessionReport.name(of: profile.provider), profile.name, profile.email ?? "",
      profile.createdAt.map(SessionReport.text) ?? "", "\(user.liveSessions)", user.lastUsedAt.map(SessionReport.text) ?? "",
      user.suspension?.at.map(SessionReport.text) ?? "",
    ].map(Printable.text)
  }

  static func write(_ user: User, asJSON: Bool) {
    guard !asJSON else { return Console.write(json: json(user)) }
    var rows = ProfileReport.rows(user.profile ?? .init())
    rows.append(("subject", Printable.text(user.subject)))
    if let made = user.profile?.createdAt { rows.append(("made", SessionReport.text(made))) }
    rows.append(("sessions", "\(user.liveSessions)"))
    if let used = user.lastUsedAt { rows.append(("last used", SessionReport.text(used))) }
    if let suspension = user.suspension {
      rows.append(("suspended", suspension.at.map(SessionReport.text) ?? ""))
      rows.append(("by", Printable.text(suspension.by)))
      rows.append(("because", Printable.text(suspension.reason)))
    }
    Console.write(table: rows)
  }

  static func json(_ user: User) -> JSONValue { .object(members(user)) }

  static func members(_ user: User) -> JSONObject {
    var object = JSONObject()
    if case .object(let profile) = ProfileReport.json(user.profile ?? .init()) { object = profile }
    object["subject"] = .string(user.subject)
    object["live_sessions"] = .number(JSONNumber(Int(user.liveSessions)))
    object["last_used_at"] = user.lastUsedAt.map { .string(SessionReport.text($0)) }
    if let suspension = user.suspension {
      var members: JSONObject = ["by": .string(suspension.by), "reason": .string(suspension.reason)]
      members["at"] = suspension.at.map { .string(SessionReport.text($0)) }
      object["suspension"] = .object(members)
    }
    return object
  }
}

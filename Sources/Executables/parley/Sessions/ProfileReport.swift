import JSON
import ParleyAPI

/// A person, for people and for programs.
enum ProfileReport {
  static func rows(_ profile: Profile) -> [(String, String)] {
    var rows = [("user", profile.userID), ("name", Printable.text(profile.name))]
    if let email = profile.email {
      rows.append(("e-mail", Printable.text(email) + (profile.emailVerified ? "" : " (not verified)")))
    }
    return rows + [("app", profile.app), ("provider", SessionReport.name(of: profile.provider))]
  }

  static func json(_ profile: Profile) -> JSONValue {
    var object: JSONObject = ["user_id": .string(profile.userID), "name": .string(profile.name), "app": .string(profile.app)]
    object["email"] = profile.email.map(JSONValue.string)
    object["email_verified"] = .bool(profile.emailVerified)
    object["provider"] = .string(SessionReport.name(of: profile.provider))
    object["created_at"] = profile.createdAt.map { .string(SessionReport.text($0)) }
    return .object(object)
  }
}

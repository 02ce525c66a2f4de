import JOSE
import JSON

/// A server-to-server notification that somebody wishes for: its body, for them to post.
enum NotificationRequest {
  /// How long a notification is valid, in seconds.
  static let lifetime: Int64 = 86_400
  /// The fields of the control request.
  static let names = WishedToken.names.union(["type", "jti", "email", "privateEmail", "eventTime", "eventsAsObject"])

  /// Reads a wish; `now` is in seconds since 1970.
  static func read(_ request: ControlRequest, now: Int64) throws(ControlRequest.Fault) -> WishedToken {
    var wish = try WishedToken(request, issuer: IdentityTokenRequest.issuer, lifetime: lifetime)
    guard let type = try request.text("type") else { throw .init(message: "'type' is missing: what has happened?") }
    let milliseconds = try request.integer("eventTime", in: 0...Int.max) ?? Int(now) * 1000
    var event: JSONObject = [
      "type": .string(type), "sub": wish.claims["sub"] ?? .null, "event_time": .number(JSONNumber(milliseconds)),
    ]
    if let email = try request.text("email") {
      event["email"] = .string(email)
      event["is_private_email"] = .string(try request.flag("privateEmail") ? "true" : "false")
    }
    wish.claims["sub"] = nil
    wish.claims["jti"] = .string(try request.text("jti") ?? Base64URL.encode(SecureRandom.bytes(16)))
    wish.claims["events"] = try request.flag("eventsAsObject") ? .object(event) : .string(JSONValue.object(event).description)
    return wish
  }
}

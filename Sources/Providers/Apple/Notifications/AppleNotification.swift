internal import JOSE
internal import JSON
internal import OpenID

/// Something that a person did with their account at Apple, as Apple's server told ours.
public struct AppleNotification: Sendable, Hashable {
  /// What was done.
  public enum Kind: Sendable, Hashable {
    /// Mail to the relay address is forwarded again.
    case emailEnabled
    /// Mail to the relay address goes nowhere.
    case emailDisabled
    /// The person takes back their consent: Apple's tokens are void, and sessions have to end.
    case consentRevoked
    /// The account at Apple is deleted for good.
    case accountDeleted
    /// Something that this version does not know, by Apple's word: to be acknowledged and otherwise ignored.
    case other(String)

    init(_ word: String) {
      switch word {
      case "email-enabled": self = .emailEnabled
      case "email-disabled": self = .emailDisabled
      case "consent-revoked": self = .consentRevoked
      // Both spellings are Apple's: the guide and the wire disagree.
      case "account-delete", "account-deleted": self = .accountDeleted
      default: self = .other(word)
      }
    }
  }

  /// `jti`: the same for every delivery of one notification; 1 to 255 bytes.
  public let id: String
  /// The client id that the account signed in to.
  public let audience: String
  /// `iat`, in seconds since 1970.
  public let issuedAt: Int64
  /// What was done.
  public let kind: Kind
  /// Apple's identifier of the account; 1 to 255 bytes.
  public let subject: String
  /// When, in milliseconds since 1970.
  public let occurredAt: Int64
  /// The address that it concerns, if it concerns one.
  public let email: String?
  /// Whether the address is a relay's.
  public let emailIsPrivate: Bool

  private static let maximumTextLength = 255

  init(_ token: VerifiedToken, allowedAudiences: [String]) throws(IDTokenError) {
    guard let id = try token.text("jti") else { throw IDTokenError(.rejected, reason: "jti_missing") }
    guard Self.isText(id) else { throw IDTokenError(.rejected, reason: "jti_malformed") }
    let event = try Self.event(token.claims["events"])
    guard let word = event["type"]?.string, Self.isText(word) else {
      throw IDTokenError(.rejected, reason: "event_type_malformed")
    }
    guard let subject = event["sub"]?.string, Self.isText(subject) else {
      throw IDTokenError(.rejected, reason: "event_subject_malformed")
    }
    self.id = id
    audience = token.audiences.first(where: allowedAudiences.contains) ?? token.audiences[0]
    issuedAt = token.issuedAt
    kind = Kind(word)
    self.subject = subject
    occurredAt = try Self.milliseconds(event["event_time"]) ?? token.issuedAt * 1000
    email = event["email"]?.string
    emailIsPrivate = event["is_private_email"].map { $0.bool == true || $0.string == "true" } ?? false
  }

  /// The one event, which is the text of a JSON object; Apple's guide shows the object itself.
  private static func event(_ value: JSONValue?) throws(IDTokenError) -> JSONObject {
    guard let value else { throw IDTokenError(.rejected, reason: "events_missing") }
    let parsed = value.string.flatMap { try? JSONParser.parse(Array($0.utf8), options: .init(maximumDepth: 16)) } ?? value
    guard let event = parsed.object else { throw IDTokenError(.rejected, reason: "events_malformed") }
    return event
  }

  /// Apple sends milliseconds, and its guide shows seconds: no event is from before 1973 or after 5138.
  private static func milliseconds(_ value: JSONValue?) throws(IDTokenError) -> Int64? {
    guard let value else { return nil }
    guard let time = value.int64, (0..<100_000_000_000_000).contains(time) else {
      throw IDTokenError(.rejected, reason: "event_time_malformed")
    }
    return time < 100_000_000_000 ? time * 1000 : time
  }

  private static func isText(_ text: String) -> Bool { !text.isEmpty && text.utf8.count <= maximumTextLength }
}

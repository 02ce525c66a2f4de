public import Values

/// Whose bucket it is.
public struct LimitKey: Sendable, Hashable, CustomStringConvertible {
  /// The text it is stored under: `ip:192.0.2.1`, `user:9f86d0…`.
  public let text: String

  /// The bucket of a client address (of an IPv6 address: of its /64).
  public static func address(_ address: String) -> LimitKey { LimitKey(text: "ip:\(address)") }

  /// The bucket of a person, known by the salted hash of the subject alone.
  public static func user(_ subject: SubjectHash) -> LimitKey { LimitKey(text: "user:\(subject)") }

  /// What a person may have of a capability in a day.
  public static func cap(_ capability: String, _ subject: SubjectHash) -> LimitKey {
    LimitKey(text: "cap:\(capability):\(subject)")
  }

  /// The text.
  public var description: String { text }
}

/// What a limiter says.
public enum LimitDecision: Sendable, Hashable {
  /// A token was taken.
  case allowed
  /// There was none, and nothing was taken; one will be there at this moment.
  case refused(until: Instant)
}

public import Values

/// Whether tokens of a capability are handed out, to everybody or to one person, as an operator has decided.
public struct KillSwitch: Sendable, Hashable {
  /// The name of the switch that stops every capability.
  public static let all = "*"

  /// The capability, or ``all``.
  public var capability: String
  /// The person whom it is about; nil for everybody.
  public var subject: SubjectHash?
  /// Whether nothing is handed out.
  public var isStopped: Bool
  /// Why, in the operator's words.
  public var reason: String
  /// When it was set last.
  public var changedAt: Instant
  /// Who set it.
  public var changedBy: String

  /// A switch.
  public init(
    capability: String, subject: SubjectHash? = nil, isStopped: Bool, reason: String, changedAt: Instant, changedBy: String
  ) {
    self.capability = capability
    self.subject = subject
    self.isStopped = isStopped
    self.reason = reason
    self.changedAt = changedAt
    self.changedBy = changedBy
  }
}

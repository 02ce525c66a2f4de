public import Values

/// Something that was done, as operators read it: with an account, with a cloud token, or with a kill switch.
public struct AuditEntry: Sendable, Hashable {
  /// What it is about.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// Something was done with an account.
    case activity
    /// A cloud token was handed out, or not.
    case issuance
    /// An operator set a kill switch.
    case killSwitch
  }

  /// How it ended.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// It was done.
    case done
    /// It was refused.
    case refused
    /// It was let through, and did not work.
    case failed
  }

  /// What is done with cloud tokens.
  public static let exchange = "token_exchange"
  /// An operator has stopped a capability.
  public static let stopped = "capability_stopped"
  /// An operator lets a capability go on.
  public static let resumed = "capability_resumed"

  /// Its identifier, a UUID that grows with time.
  public var id: String
  /// When.
  public var at: Instant
  /// What it is about.
  public var kind: Kind
  /// What was done.
  public var action: String
  /// How it ended.
  public var outcome: Outcome
  /// Why, as a reason code; empty when nothing was out of the ordinary.
  public var reason: String
  /// Who did it, as ``Activity/actor``.
  public var actor: String
  /// Whose account it is, where that is known.
  public var user: UserID?
  /// Whose cloud token it is.
  public var subject: SubjectHash?
  /// The session that it concerns.
  public var session: SessionID?
  /// The app that the account belongs to, or the client id that asked.
  public var app: String
  /// The capability.
  public var capability: String
  /// The operator's reason, in words.
  public var note: String
  /// The client's address.
  public var address: String
  /// The request's id, as in the log.
  public var requestID: String

  /// An entry.
  public init(
    id: String, at: Instant, kind: Kind, action: String, outcome: Outcome, reason: String = "", actor: String,
    user: UserID? = nil, subject: SubjectHash? = nil, session: SessionID? = nil, app: String = "", capability: String = "",
    note: String = "", address: String = "", requestID: String = ""
  ) {
    self.id = id
    self.at = at
    self.kind = kind
    self.action = action
    self.outcome = outcome
    self.reason = reason
    self.actor = actor
    self.user = user
    self.subject = subject
    self.session = session
    self.app = app
    self.capability = capability
    self.note = note
    self.address = address
    self.requestID = requestID
  }
}

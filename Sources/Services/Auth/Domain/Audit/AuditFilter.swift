public import Values

/// Which entries of the audit are wanted; nil does not matter.
public struct AuditFilter: Sendable, Hashable {
  /// Whose, if one person's are wanted.
  public struct Person: Sendable, Hashable {
    /// The account.
    public var user: UserID
    /// By what the ledger of cloud tokens knows the person; nil: it does not.
    public var subject: SubjectHash?

    /// A person.
    public init(user: UserID, subject: SubjectHash?) {
      self.user = user
      self.subject = subject
    }
  }

  /// Whose.
  public var person: Person?
  /// What was done.
  public var action: String?
  /// How it ended.
  public var outcome: AuditEntry.Outcome?
  /// Why, as a reason code.
  public var reason: String?
  /// At this time or later.
  public var since: Instant?
  /// Before this time.
  public var until: Instant?

  /// A filter.
  public init(
    person: Person? = nil, action: String? = nil, outcome: AuditEntry.Outcome? = nil, reason: String? = nil,
    since: Instant? = nil, until: Instant? = nil
  ) {
    self.person = person
    self.action = action
    self.outcome = outcome
    self.reason = reason
    self.since = since
    self.until = until
  }

  /// Where such entries are to be looked for.
  public var kinds: Set<AuditEntry.Kind> {
    var kinds: Set<AuditEntry.Kind>
    switch action {
    case nil: kinds = Set(AuditEntry.Kind.allCases)
    case AuditEntry.exchange: kinds = [.issuance]
    case AuditEntry.stopped, AuditEntry.resumed: kinds = [.killSwitch]
    default: kinds = [.activity]
    }
    // Switches are nobody's, are always set, and for a reason that is no code.
    if person != nil || reason != nil || outcome.map({ $0 != .done }) == true { kinds.remove(.killSwitch) }
    if let person, person.subject == nil { kinds.remove(.issuance) }
    return kinds
  }
}

/// A line of the ledger as it is read back.
public struct LedgerEntry: Sendable, Hashable {
  /// Its name: a UUID that grows with time.
  public var id: String
  /// What it says; of the subject's hash there are the first 16 bytes.
  public var record: IssuanceRecord

  /// A line.
  public init(id: String, record: IssuanceRecord) {
    self.id = id
    self.record = record
  }
}

/// Which lines of the ledger are wanted: a person's, a capability's, or both.
public struct LedgerFilter: Sendable, Hashable {
  /// Whose.
  public var subject: SubjectHash?
  /// Of which capability.
  public var capability: String?

  /// A filter; nil when it would let everything through.
  public init?(subject: SubjectHash?, capability: String?) {
    guard subject != nil || capability != nil else { return nil }
    self.subject = subject
    self.capability = capability
  }
}

internal import AuthDomain
internal import ParleyAPI
internal import Values
internal import WellKnown

extension UserRecord {
  var message: User {
    User(
      profile: account.message, subject: subject,
      suspension: suspension.map { .init(at: .init($0.at), by: $0.by, reason: $0.reason) },
      liveSessions: Int32(clamping: liveSessions), lastUsedAt: lastUsedAt.map { .init($0) })
  }
}

extension AuthDomain.AuditEntry {
  var message: ParleyAPI.AuditEntry {
    ParleyAPI.AuditEntry(
      id: id, at: .init(at), kind: kind.message, action: action, outcome: outcome.rawValue, reason: reason, actor: actor,
      userID: user?.description ?? "", subjectHash: subject?.description ?? "", sessionID: session?.description, app: app,
      capability: capability, note: note, clientAddress: address, requestID: requestID)
  }
}

extension AuthDomain.AuditEntry.Kind {
  var message: AuditKind {
    switch self {
    case .activity: .activity
    case .issuance: .issuance
    case .killSwitch: .killSwitch
    }
  }
}

extension Instant {
  /// A time of a request; nil where it was left out.
  init?(_ time: GoogleProtobuf.Timestamp?, _ field: String) throws(AccountRefusal) {
    guard let time else { return nil }
    // What the protobuf definition allows: the years 1 to 9999.
    guard (-62_135_596_800...253_402_300_799).contains(time.seconds), (0..<1_000_000_000).contains(time.nanos) else {
      throw AccountRefusal(field: field, "a time from the year 1 to the year 9999")
    }
    self.init(microseconds: time.seconds * 1_000_000 + Int64(time.nanos) / 1000)
  }
}

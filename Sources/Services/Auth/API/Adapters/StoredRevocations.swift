internal import AuthDomain
internal import AuthStore
internal import PostgreSQL
internal import ServiceKit

/// The tables of sessions as the feed of this service's own guard.
struct StoredRevocations: RevocationSource {
  let revocations: RevocationStore
  let sessions: SessionStore
  let now: @Sendable () -> Moment

  func ended(after cursor: Int64) async throws -> (sessions: [RevocationMemory.Ended], cursor: Int64, hasMore: Bool) {
    let page = try await revocations.page(after: cursor, at: now())
    let ended = page.sessions.map {
      RevocationMemory.Ended(
        session: UUID($0.id), ending: SessionEnding($0.cause), mattersUntil: $0.mattersUntil.seconds)
    }
    return (ended, page.cursor, page.isFull)
  }

  func ending(ofStored session: UUID) async throws -> SessionEnding? {
    try await sessions.ending(of: SessionID(session), at: now()).map { SessionEnding($0) }
  }
}

extension SessionEnding {
  init(_ cause: SessionEnd) {
    self =
      switch cause {
      case .signedOut: .signedOut
      case .revoked: .revoked
      case .refreshReused: .refreshReused
      case .expired: .expired
      case .revokedByOperator: .revokedByOperator
      case .accountDeleted: .accountDeleted
      case .consentRevoked: .consentRevoked
      }
  }
}

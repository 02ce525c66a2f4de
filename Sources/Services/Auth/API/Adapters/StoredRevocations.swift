internal import AuthDomain
internal import AuthStore
internal import ServiceKit
internal import Values

/// The tables of sessions as the feed of this service's own guard.
struct StoredRevocations: RevocationSource {
  let revocations: RevocationStore
  let sessions: SessionStore
  let now: @Sendable () -> Instant

  func ended(
    after position: RevocationPosition
  ) async throws -> (sessions: [RevocationMemory.Ended], position: RevocationPosition, hasMore: Bool) {
    let page = try await revocations.page(
      after: RevocationStore.Position(cursor: position.cursor, session: position.session.map { SessionID($0) }), at: now())
    let ended = page.sessions.map {
      RevocationMemory.Ended(
        session: UUID($0.id), ending: SessionEnding($0.cause), mattersUntil: $0.mattersUntil.seconds)
    }
    let next = RevocationPosition(cursor: page.position.cursor, session: page.position.session.map { UUID($0) })
    return (ended, next, page.isFull)
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

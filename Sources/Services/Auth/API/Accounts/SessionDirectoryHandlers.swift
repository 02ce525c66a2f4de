internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import ParleyAPI
internal import RPC
internal import Values

/// `parley.auth.v1.SessionDirectoryService`: what other services ask about sessions.
struct SessionDirectoryHandlers: SessionDirectoryService.Handlers {
  let revocations: RevocationStore
  let sessions: SessionStore
  let loops: [EventLoop]
  /// How often the feed is read. Each reading is told, so it is the heartbeat as well.
  let interval: Duration
  let now: @Sendable () -> Instant

  /// Each watcher reads for itself: a question by primary key, answered from memory. A reading that fails ends the stream, because a
  /// heartbeat says that nothing was missed.
  func watchRevocations(
    _ request: WatchRevocationsRequest, _ responses: ResponseWriter<WatchRevocationsResponse>, _ call: CallContext
  ) async throws {
    call.sendInitialMetadata()
    let loop = loops.first(where: \.isCurrent) ?? loops[0]
    var position = try await position(request)
    while true {
      let page = try await revocations.page(after: position, at: now())
      position = page.position
      try await responses.write(
        .init(
          sessions: page.sessions.map(\.message), cursor: position.cursor,
          cursorSessionID: position.session?.description ?? ""))
      if !page.isFull { try await loop.sleep(for: interval) }
    }
  }

  /// Where a watcher goes on. A number alone, of a watcher that does not know better, is believed if it is there at all.
  private func position(_ request: WatchRevocationsRequest) async throws -> RevocationStore.Position {
    guard request.cursor > 0, !request.cursorSessionID.isEmpty else { return try await revocations.position(request.cursor) }
    guard let session = SessionID(request.cursorSessionID) else { return .start }
    return RevocationStore.Position(cursor: request.cursor, session: session)
  }

  func checkSessions(_ request: CheckSessionsRequest, _ call: CallContext) async throws -> CheckSessionsResponse {
    guard request.sessionIDs.count <= 100 else { throw AccountRefusal(field: "session_ids", "at most 100").rpcError }
    let asked = request.sessionIDs.compactMap { SessionID($0) }
    guard !asked.isEmpty else { return .init() }
    return .init(aliveSessionIDs: try await sessions.alive(asked, at: now()).map(\.description))
  }
}

extension AuthDomain.EndedSession {
  var message: ParleyAPI.EndedSession {
    .init(sessionID: id.description, cause: cause.message, mattersUntil: .init(mattersUntil))
  }
}

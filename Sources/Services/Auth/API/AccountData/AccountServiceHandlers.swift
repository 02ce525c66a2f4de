internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import Values
internal import WellKnown

/// `parley.auth.v1.AccountService`.
struct AccountServiceHandlers: AccountService.Handlers {
  /// Pieces of an export that are read at once: at most 2 MiB.
  private static let piecesAtOnce = 8

  let rules: AccountDataRules
  let plan: AccountWorkPlan
  let reauthentication: ReauthenticationFlow
  let work: AccountWorkStore
  let pepper: RefreshPeppers
  let limits: AccountLimits
  let calls: JournalledCalls
  let journal: AccountJournal
  let now: @Sendable () -> Instant

  // MARK: Step-up

  func reauthenticate(_ request: ReauthenticateRequest, _ call: CallContext) async throws -> ReauthenticateResponse {
    let caller = try call.caller
    return try await calls.answer(call) { client in
      return try await reauthentication.reauthenticate(request, caller, for: client)
    }
  }

  // MARK: Export

  func startExport(_ request: StartExportRequest, _ call: CallContext) async throws -> StartExportResponse {
    let caller = try call.caller
    return try await calls.answer(call) { client in
      try rules.stepUp.judge(authenticatedAt: caller.authenticatedAt, at: now())
      let asked = try self.request(request.idempotencyKey, .export, caller)
      try await limits.take(.export(of: caller.user), rules.exportRequests, at: now(), otherwise: .userLimited)
      let id: AccountWorkID
      switch try await work.startExport(asked, at: now(), for: client.stored) {
      case .refused(let kind): throw AccountRefusal(kind)
      case .work(let found, _): id = found
      }
      return .init(work: try await message(id, caller))
    }
  }

  func downloadExport(
    _ request: DownloadExportRequest, _ responses: ResponseWriter<DownloadExportResponse>, _ call: CallContext
  ) async throws {
    let caller = try call.caller
    try await calls.answer(call) { client in
      try rules.stepUp.judge(authenticatedAt: caller.authenticatedAt, at: now())
      let export = try await found(request.workID, caller)
      guard export.canBeDownloaded(at: now()) else { throw AccountRefusal(.exportNotAvailable, detail: export.failure) }
      guard (0...export.byteCount).contains(request.offset) else {
        throw AccountRefusal(field: "offset", "0 to \(export.byteCount)")
      }
      let entry = AuthDomain.Activity(
        user: caller.user, app: caller.app, at: now(), action: .exportDownloaded, session: caller.session,
        address: client.address, requestID: client.requestID)
      let (sent, failure) = await send(export.id, of: caller.user, from: request.offset, to: responses)
      // Whoever breaks a download off has what came before, and the person is to see that.
      if sent > 0 || failure == nil {
        let end = failure == nil ? now().advanced(by: rules.downloadedRetention) : nil
        try await uncancelled { () async throws(DatabaseError) in
          try await work.downloaded(export.id, of: caller.user, keepingUntil: end, noting: entry)
        }
      }
      if let failure { throw failure }
    }
  }

  /// How many pieces went out, and what ended that before the last one.
  private func send(
    _ export: AccountWorkID, of user: UserID, from offset: Int64, to responses: ResponseWriter<DownloadExportResponse>
  ) async -> (sent: Int, failure: (any Error)?) {
    var sent = 0
    do {
      var rank = try await work.rank(of: offset, in: export, of: user)
      while true {
        let pieces = try await work.pieces(of: export, of: user, from: rank, limit: Self.piecesAtOnce)
        for piece in pieces {
          try await responses.write(piece.message(from: offset))
          sent += 1
        }
        guard pieces.count == Self.piecesAtOnce else { return (sent, nil) }
        rank += Int32(pieces.count)
      }
    } catch { return (sent, error) }
  }

  // MARK: Deletion

  func deleteAccount(_ request: DeleteAccountRequest, _ call: CallContext) async throws -> DeleteAccountResponse {
    let caller = try call.caller
    return try await calls.answer(call) { client in
      try rules.stepUp.judge(authenticatedAt: caller.authenticatedAt, at: now())
      let asked = try self.request(request.idempotencyKey, .deletion, caller)
      let receipts = DeletionReceipts(pepper: try await pepper.pepper())
      let user = caller.user
      let outcome = try await work.startDeletion(
        asked, receipt: { receipts.digest(of: $0, of: user) }, at: now(), for: client.stored)
      switch outcome {
      case .refused(let kind): throw AccountRefusal(kind)
      case .work(let id, let ended):
        journal.sessionsEnded(ended, .accountDeleted)
        return .init(
          receipt: try await receipts.receipt(of: id, of: user) { digest in try await work.deletion(receipt: digest) != nil },
          work: try await message(id, caller))
      }
    }
  }

  func getDeletionReport(
    _ request: GetDeletionReportRequest, _ call: CallContext
  ) async throws -> GetDeletionReportResponse {
    try await calls.answer(call) { client in
      try await limits.take(
        .receipt(from: client.addressKey), rules.receiptLimit, at: now(), otherwise: .addressLimited)
      guard let digest = DeletionReceipts.digest(request.receipt) else {
        throw AccountRefusal(.receiptUnknown, detail: "malformed")
      }
      guard let found = try await work.deletion(receipt: digest) else { throw AccountRefusal(.receiptUnknown) }
      return .init(work: found.message)
    }
  }

  // MARK: How far it has come

  func getAccountWork(_ request: GetAccountWorkRequest, _ call: CallContext) async throws -> GetAccountWorkResponse {
    let caller = try call.caller
    return try await calls.answer(call) { _ in .init(work: try await found(request.workID, caller).message) }
  }

  /// Another person's is as absent as one that never was.
  private func found(_ id: String, _ caller: Caller) async throws -> AuthDomain.AccountWork {
    guard let id = AccountWorkID(id) else { throw AccountRefusal(.workNotFound) }
    // In the guard of one line, the release build's optimizer (6.3.1) crashes on the two kinds of errors.
    let found = try await work.work(id, of: caller.user)
    guard let found else { throw AccountRefusal(.workNotFound) }
    return found
  }

  private func message(_ id: AccountWorkID, _ caller: Caller) async throws -> ParleyAPI.AccountWork? {
    try await work.work(id, of: caller.user)?.message
  }

  private func request(
    _ key: String, _ kind: AuthDomain.AccountWork.Kind, _ caller: Caller
  ) throws(AccountRefusal) -> AccountWorkStore.Request {
    guard (16...64).contains(key.utf8.count), key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw AccountRefusal(field: "idempotency_key", "16 to 64 characters of ASCII, none of them a blank")
    }
    let id = UUID.v7(at: now())
    return AccountWorkStore.Request(
      id: AccountWorkID(id), user: caller.user, app: caller.app, session: caller.session, key: key, steps: plan.steps(of: kind))
  }
}

import MessagesCore
import ParleyAPI
import RPC
import Synchronization
import WellKnown

/// Exports and deletions of whoever is signed in to a `ScriptedAuth`.
struct ScriptedAccount: AccountService.Handlers {
  let auth: ScriptedAuth

  init(_ auth: ScriptedAuth) { self.auth = auth }

  func reauthenticate(_ request: ReauthenticateRequest, _ call: CallContext) async throws -> ReauthenticateResponse {
    let id = try auth.authorize("Reauthenticate", call)
    guard auth.state.withLock({ $0.nonces.remove(request.nonce) }) != nil else { throw ScriptedAuth.refusal("NONCE_UNKNOWN") }
    guard request.idToken == "ana's" else { throw ScriptedAuth.refusal("IDENTITY_MISMATCH", .permissionDenied) }
    let tokens = auth.state.withLock { auth.tokens(of: id, &$0) }
    return .init(accessToken: tokens.accessToken, tokenType: "Bearer", expiresIn: tokens.expiresIn)
  }

  func startExport(_ request: StartExportRequest, _ call: CallContext) async throws -> StartExportResponse {
    try auth.authorize("StartExport", call)
    return .init(work: .init(id: "work-1", kind: .export, state: .running))
  }

  func downloadExport(
    _ request: DownloadExportRequest, _ responses: ResponseWriter<DownloadExportResponse>, _ call: CallContext
  ) async throws {
    try auth.authorize("DownloadExport", call)
    let (bytes, limit) = auth.state.withLock { state in
      state.downloads.append(request.offset)
      return (state.export, state.breaks.isEmpty ? nil : state.breaks.removeFirst())
    }
    var (place, left) = (Int(request.offset), limit ?? .max)
    while place < bytes.count, left > 0 {
      let part = bytes[place..<min(place + 3, bytes.count)].prefix(left)
      try await responses.write(.init(offset: Int64(place), service: "notes", document: "a", data: .init(part)))
      (place, left) = (place + part.count, left - part.count)
    }
    if limit != nil { throw RPCError(.unavailable, "the connection broke") }
  }

  func deleteAccount(_ request: DeleteAccountRequest, _ call: CallContext) async throws -> DeleteAccountResponse {
    try auth.authorize("DeleteAccount", call)
    auth.end("ACCOUNT_DELETED")
    return .init(receipt: "prd1_x", work: .init(id: "work-2", kind: .deletion, state: .running))
  }

  func getAccountWork(_ request: GetAccountWorkRequest, _ call: CallContext) async throws -> GetAccountWorkResponse {
    try auth.authorize("GetAccountWork", call)
    return .init(work: .init(id: request.workID, kind: .export, state: .done))
  }

  func getDeletionReport(
    _ request: GetDeletionReportRequest, _ call: CallContext
  ) async throws -> GetDeletionReportResponse {
    guard request.receipt == "prd1_x" else { throw ScriptedAuth.refusal("RECEIPT_UNKNOWN", .notFound) }
    return .init(work: .init(id: "work-2", kind: .deletion, state: .done))
  }
}

import JOSE
import MessagesCore
import ParleyAPI
import RPC
import RPCServer
import Synchronization
import WellKnown

/// Exports and deletions of the one person of `StubAccounts`, done at the second look.
final class StubAccountData: AccountService.Handlers {
  struct State {
    /// Sessions that have stepped up.
    var seen: Set<String> = []
    var looks = 0
    var isDeleted = false
    var documents: [(name: String, bytes: [UInt8])] = [
      ("sessions.jsonl", Array("{}\n".utf8)), ("empty.jsonl", []), ("note.txt", Array("hello".utf8)),
    ]
    var isDamaged = false
  }

  static let receipt = "prd1_receipt"

  let state = Mutex(State())
  private let accounts: StubAccounts

  init(_ accounts: StubAccounts) { self.accounts = accounts }

  private static func refusal(_ code: StatusCode, _ reason: String) -> RPCError {
    RPCError(code, "refused", details: [.errorInfo(reason: reason, domain: "parley.auth.v1", metadata: [:])])
  }

  private func work(_ kind: AccountWorkKind) -> AccountWork {
    let looks = state.withLock { state in
      state.looks += 1
      return state.looks
    }
    let isDone = looks > 1
    return AccountWork(
      id: "work-1", kind: kind, state: isDone ? .done : .running, createdAt: .init(seconds: 1_767_326_645), totalBytes: 8,
      steps: [
        .init(
          name: "service.notes", isDone: isDone, attempts: Int32(looks), failure: isDone ? "" : "unavailable",
          counts: isDone ? [.init(kind: "notes", deleted: 3), .init(kind: "bills", held: 1, whyHeld: "The law.")] : [])
      ])
  }

  private func stepUp(_ call: CallContext) throws -> String {
    let id = try accounts.session(call)
    guard state.withLock({ $0.seen.contains(id) }) else { throw Self.refusal(.failedPrecondition, "STEP_UP_REQUIRED") }
    return id
  }

  func reauthenticate(_ request: ReauthenticateRequest, _ call: CallContext) async throws -> ReauthenticateResponse {
    let id = try accounts.session(call)
    guard request.idToken.contains("."), !request.nonce.isEmpty else { throw Self.refusal(.unauthenticated, "INVALID_ID_TOKEN") }
    state.withLock { _ = $0.seen.insert(id) }
    return .init(accessToken: accounts.accessToken(of: id), tokenType: "Bearer", expiresIn: .init(seconds: 300))
  }

  func startExport(_ request: StartExportRequest, _ call: CallContext) async throws -> StartExportResponse {
    _ = try stepUp(call)
    return .init(work: work(.export))
  }

  func downloadExport(
    _ request: DownloadExportRequest, _ responses: ResponseWriter<DownloadExportResponse>, _ call: CallContext
  ) async throws {
    _ = try stepUp(call)
    let (documents, isDamaged) = state.withLock { ($0.documents, $0.isDamaged) }
    var offset: Int64 = 0
    for document in documents {
      let sha256 = isDamaged ? [UInt8](repeating: 0, count: 32) : SHA256.digest(document.bytes)
      try await responses.write(
        .init(
          offset: offset, service: "notes", document: document.name, data: .init(document.bytes), sha256: .init(sha256)))
      offset += Int64(document.bytes.count)
    }
  }

  func deleteAccount(_ request: DeleteAccountRequest, _ call: CallContext) async throws -> DeleteAccountResponse {
    _ = try stepUp(call)
    state.withLock { $0.isDeleted = true }
    return .init(receipt: Self.receipt, work: work(.deletion))
  }

  func getAccountWork(_ request: GetAccountWorkRequest, _ call: CallContext) async throws -> GetAccountWorkResponse {
    _ = try accounts.session(call)
    guard request.workID == "work-1" else { throw Self.refusal(.notFound, "ACCOUNT_WORK_NOT_FOUND") }
    return .init(work: work(.export))
  }

  func getDeletionReport(
    _ request: GetDeletionReportRequest, _ call: CallContext
  ) async throws -> GetDeletionReportResponse {
    guard request.receipt == Self.receipt else { throw Self.refusal(.notFound, "RECEIPT_UNKNOWN") }
    return .init(work: work(.deletion))
  }
}

internal import EventLoop
internal import PostgreSQL
internal import RPC
internal import TestAPI
internal import Values

/// The ledger over gRPC. What the database throws is mapped by the interceptor that every service has.
struct LedgerHandlers: TestAPI.LedgerService.Handlers {
  let store: LedgerStore

  func post(_ request: PostRequest, _ call: CallContext) async throws -> PostResponse {
    guard let entry = request.entry, (1...64).contains(entry.key.utf8.count) else {
      throw RPCError(.invalidArgument, "an entry with a key of 1 to 64 bytes is required")
    }
    let posted = try await store.post(
      entry, isolation: request.serializable ? .serializable : .readCommitted, deadline: call.databaseDeadline)
    guard let posted else { throw RPCError(.alreadyExists, "another entry has this key") }
    return PostResponse(id: posted.id.description, isRepeated: posted.isRepeated)
  }

  func getEntry(_ request: GetEntryRequest, _ call: CallContext) async throws -> GetEntryResponse {
    guard let (id, entry) = try await store.entry(request.key, deadline: call.databaseDeadline) else {
      throw RPCError(.notFound, "no entry has this key")
    }
    return GetEntryResponse(entry: entry, id: id.description)
  }
}

extension CallContext {
  /// When the caller stops waiting, on the clock of the database floor.
  var databaseDeadline: MonotonicInstant? { deadline.map { MonotonicInstant(nanoseconds: $0.monotonicNanoseconds) } }
}

internal import Idempotency
public import MessagesCore
internal import MessagesWire
public import PostgreSQL
public import RPC
internal import Synchronization

/// A request with a key of its own that runs now: its answer is kept, and given again to whoever repeats it.
///
/// A handler whose effect is a transaction of the same database keeps its answer in that transaction, and is then done exactly once
/// whatever crashes; one that does not is done again when the process dies between its effect and the end of the call.
public final class KeyedRequest: Sendable {
  let claim: RequestClaim
  private let store: IdempotencyStore
  private let kept = Atomic(false)

  init(_ claim: RequestClaim, _ store: IdempotencyStore) { (self.claim, self.store) = (claim, store) }

  /// The caller's key.
  public var key: String { claim.key }

  /// Whether a handler has kept its answer by itself.
  var isKept: Bool { kept.load(ordering: .relaxed) }

  /// Keeps the answer together with what the transaction does: both are there, or neither.
  ///
  /// - Throws: ``RPC/RPCError`` with `aborted` when another run has taken the request over, which rolls the transaction back; or
  ///   ``PostgreSQL/DatabaseError``.
  public func keep(_ answer: some Message, in transaction: Transaction) async throws {
    let bytes: [UInt8]
    do { bytes = try answer.protobufBytes() } catch { throw RPCError(.internal, "the response cannot be encoded", cause: error) }
    guard try await store.keep(.init(status: 0, bytes: bytes), for: claim, in: transaction) else {
      throw PolicyRefusal.keyInUse.rpcError(retryAfter: .seconds(1))
    }
    kept.store(true, ordering: .relaxed)
  }

  enum Key: CallValueKey { typealias Value = KeyedRequest }
}

extension CallContext {
  /// The request's key and what is kept under it; nil in a method without keys, and for a request without one.
  public var keyedRequest: KeyedRequest? { self[KeyedRequest.Key.self] }
}

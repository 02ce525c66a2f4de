public import AuthDomain
public import EventLoop
public import PostgreSQL

/// The audit of handed out tokens: rows are added and never changed.
public final class IssuanceStore: Sendable {
  private typealias Batcher = WriteBatcher<IssuanceRecord, Void>

  private let batchers: PerLoop<Batcher>

  /// The audit in `database`.
  ///
  /// - Parameters:
  ///   - database: Where the records go.
  ///   - loops: The loops that write, each its own batches.
  ///   - patience: How long a statement may take: its callers wait for their tokens meanwhile.
  public init(_ database: Database, loops: [EventLoop], patience: Duration = .seconds(5)) {
    batchers = PerLoop(loops) { loop in
      Batcher(on: loop) { records throws(DatabaseError) in
        let deadline = MonotonicInstant.now().advanced(by: patience)
        try await database.execute(Self.insert(records), deadline: deadline)
        return records.map { _ in }
      }
    }
  }

  /// Adds a record; it is durable when this returns.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` when it is not, or when nobody can say.
  public func add(_ record: IssuanceRecord) async throws(DatabaseError) { try await batchers.here.submit(record) }

  private static func insert(_ records: [IssuanceRecord]) -> Query {
    // An array has no NULLs here: the end of time stands for a token whose end is not known.
    let expiries = records.map { $0.expiresAt.map { Timestamp($0) } ?? .distantFuture }
    return """
      insert into auth.token_issuance (
        id, subject_hash, issued_at, audience, capability, scope, expires_at, client_address, request_id, outcome, reason)
      select q.id, q.subject_hash, q.issued_at, q.audience, q.capability, q.scope, nullif(q.expires_at, 'infinity'),
        q.client_address, q.request_id, q.outcome, q.reason
      from unnest(
        \(records.map { UUID.v7(at: Timestamp($0.at)) }), \(records.map(\.subject.description)),
        \(records.map { Timestamp($0.at) }), \(records.map(\.audience)), \(records.map(\.capability)), \(records.map(\.scope)),
        \(expiries), \(records.map(\.address)), \(records.map(\.requestID)), \(records.map(\.outcome.rawValue)),
        \(records.map(\.reason)))
        as q (id, subject_hash, issued_at, audience, capability, scope, expires_at, client_address, request_id, outcome, reason)
      """
  }
}

public import AuthDomain
public import PostgreSQL
public import Values

/// The ledger as operators read it.
public struct LedgerStore: Sendable {
  private let database: Database

  /// The ledger in `database`.
  public init(_ database: Database) { self.database = database }

  /// Lines, newest first.
  ///
  /// - Parameters:
  ///   - filter: Which ones.
  ///   - before: The line after which to go on; nil begins with the newest.
  ///   - count: How many at most.
  public func entries(
    _ filter: LedgerFilter, before: UUID? = nil, count: Int
  ) async throws(DatabaseError) -> [LedgerEntry] {
    let rows: [(UUID, String, Instant, String, String, String, String, Instant?, String, String, String, String)] =
      try await database.reads.rows(
        """
        select id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id,
          outcome, reason
        from auth.token_issuance
        where \(part: Self.condition(filter)) and id < \(before ?? UUID(high: .max, low: .max))
        order by id desc limit \(Int64(count))
        """)
    return try rows.map { row throws(DatabaseError) in
      guard let subject = SubjectHash(row.1), let outcome = IssuanceRecord.Outcome(rawValue: row.10) else {
        throw DatabaseError(.decodingFailed, "a line of the ledger has no subject or outcome")
      }
      return LedgerEntry(
        id: row.0.description,
        record: IssuanceRecord(
          at: row.2, subject: subject, audience: row.3, capability: row.4, account: row.5, scope: row.6,
          expiresAt: row.7, address: row.8, requestID: row.9, outcome: outcome, reason: row.11))
    }
  }

  private static func condition(_ filter: LedgerFilter) -> Query {
    switch (filter.subject, filter.capability) {
    case (let subject?, let capability?):
      "subject_hash = \(subject.description) and capability = \(capability)"
    case (let subject?, nil): "subject_hash = \(subject.description)"
    case (nil, let capability): "capability = \(capability)"
    }
  }
}

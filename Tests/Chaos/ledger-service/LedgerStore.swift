internal import EventLoop
internal import PostgreSQL
internal import TestAPI
internal import Values

/// The only SQL of the ledger.
struct LedgerStore: Sendable {
  let database: Database

  /// Commits the entry and both balances, or finds that it was committed before; nil when its key is another entry's.
  ///
  /// The accounts are locked in the order in which the entry names them, not in one order for all: two opposite entries
  /// deadlock (SQLSTATE 40P01), which is what a fault run wants to see survived. The transaction is then run again.
  func post(
    _ entry: Entry, isolation: Isolation, deadline: MonotonicInstant?
  ) async throws -> (id: UUID, isRepeated: Bool)? {
    try await database.transaction(retrying: 8, isolation: isolation, deadline: deadline) { transaction in
      let id: UUID? = try await transaction.value(
        """
        insert into ledger.entry (key, id, debit, credit, amount, memo)
        values (\(entry.key), \(UUID.v7()), \(entry.debit), \(entry.credit), \(entry.amount), \(entry.memo))
        on conflict (key) do nothing returning id
        """)
      guard let id else {
        let known: (UUID, String, String, Int64, String)? = try await transaction.row(
          "select id, debit, credit, amount, memo from ledger.entry where key = \(entry.key)")
        guard let known, known.1 == entry.debit, known.2 == entry.credit, known.3 == entry.amount, known.4 == entry.memo
        else { return nil }
        return (known.0, true)
      }
      try await transaction.executeAll([
        "update ledger.account set balance = balance - \(entry.amount) where name = \(entry.debit)",
        "update ledger.account set balance = balance + \(entry.amount) where name = \(entry.credit)",
      ])
      return (id, false)
    }
  }

  /// One entry, by the shared read connection.
  func entry(_ key: String, deadline: MonotonicInstant?) async throws(DatabaseError) -> (UUID, Entry)? {
    let row: (UUID, String, String, Int64, String)? = try await database.reads.row(
      "select id, debit, credit, amount, memo from ledger.entry where key = \(key)", deadline: deadline)
    return row.map { ($0.0, Entry(key: key, debit: $0.1, credit: $0.2, amount: $0.3, memo: $0.4)) }
  }
}

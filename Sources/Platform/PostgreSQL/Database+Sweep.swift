/// How much a sweep removes at once.
public enum SweepBatch {
  /// Rows removed by one statement, so that none holds its locks for long.
  public static let size: Int64 = 500
}

extension Database {
  /// Runs a statement that removes at most `batch` rows until it removes fewer.
  ///
  /// - Returns: How many were removed.
  public func sweep(_ statement: Query, batch: Int64 = SweepBatch.size) async throws(DatabaseError) -> Int {
    var total = 0
    while true {
      let removed = try await execute(statement)
      total += removed
      guard removed == Int(batch) else { return total }
    }
  }
}
